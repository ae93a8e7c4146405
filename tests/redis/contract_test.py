"""The published contract of BF.*: commands and their exact replies, in both versions of the protocol.

A table is a script of lines `COMMAND => reply` or `COMMAND => reply of RESP2 | reply of RESP3`, where the parts may
stand below each other; client.py says how a reply is written. `<n>` stands for any number. Each script starts on an
empty server and runs once in each version.

The tables say what RedisBloom 8 answers, and were checked against it, except those in DIFFERENT: there it is plainly
broken, and each names the reason to differ.
"""
import re
import unittest

from client import Error, render
from harness import OneServerTest, in_both_protocols, lines_of, main, matches, needs_module

WRONG_TYPE = "-WRONGTYPE Operation against a key holding the wrong kind of value"

CONTRACT = {
    "reserve": """
        BF.RESERVE f 0.01 100 => +OK
        BF.RESERVE f 0.01 100 => -ERR item exists
        BF.RESERVE g 0.001 5000 EXPANSION 4 => +OK
        BF.RESERVE h 0.001 5000 NONSCALING => +OK
        BF.RESERVE i 1e-3 5000 expansion 1 => +OK
        BF.RESERVE j 0.5 1 nonscaling => +OK
        BF.RESERVE k 0.01 100 EXPANSION 0 => +OK
        BF.RESERVE l 0.01 100 NONSCALING EXPANSION 0 => +OK
        BF.RESERVE m 0.999 100 EXPANSION 32768 => +OK
        BF.INFO f EXPANSION => *[:2] | %{+Expansion rate: :2}
        BF.INFO g EXPANSION => *[:4] | %{+Expansion rate: :4}
        BF.INFO h EXPANSION => *[$-1] | %{+Expansion rate: _}
        BF.INFO i EXPANSION => *[:1] | %{+Expansion rate: :1}
        BF.INFO k EXPANSION => *[$-1] | %{+Expansion rate: _}
        BF.INFO l EXPANSION => *[$-1] | %{+Expansion rate: _}
        BF.INFO m EXPANSION => *[:32768] | %{+Expansion rate: :32768}
        """,
    "reserve with a bad rate": """
        BF.RESERVE f x 100 => -ERR bad error rate
        BF.RESERVE f '' 100 => -ERR bad error rate
        BF.RESERVE f nan 100 => -ERR bad error rate
        BF.RESERVE f 0.01x 100 => -ERR bad error rate
        BF.RESERVE f ' 0.01' 100 => -ERR bad error rate
        BF.RESERVE f 0 100 => -ERR error rate must be in the range (0.000000, 1.000000)
        BF.RESERVE f 1 100 => -ERR error rate must be in the range (0.000000, 1.000000)
        BF.RESERVE f -0.1 100 => -ERR error rate must be in the range (0.000000, 1.000000)
        BF.RESERVE f 1.5 100 => -ERR error rate must be in the range (0.000000, 1.000000)
        BF.RESERVE f inf 100 => -ERR error rate must be in the range (0.000000, 1.000000)
        EXISTS f => :0
        """,
    "reserve with a bad capacity": """
        BF.RESERVE f 0.01 x => -ERR bad capacity
        BF.RESERVE f 0.01 1.5 => -ERR bad capacity
        BF.RESERVE f 0.01 '' => -ERR bad capacity
        BF.RESERVE f 0.01 99999999999999999999 => -ERR bad capacity
        BF.RESERVE f 0.01 0 => -ERR capacity must be in the range [1, 1073741824]
        BF.RESERVE f 0.01 -1 => -ERR capacity must be in the range [1, 1073741824]
        BF.RESERVE f 0.01 1073741825 => -ERR capacity must be in the range [1, 1073741824]
        EXISTS f => :0
        BF.RESERVE f 0.01 1 => +OK
        """,
    "reserve with a bad expansion": """
        BF.RESERVE f 0.01 100 EXPANSION => -ERR no expansion
        BF.RESERVE f 0.01 100 NONSCALING EXPANSION => -ERR no expansion
        BF.RESERVE f 0.01 100 EXPANSION x => -ERR bad expansion
        BF.RESERVE f 0.01 100 EXPANSION 1.5 => -ERR bad expansion
        BF.RESERVE f 0.01 100 EXPANSION -1 => -ERR expansion must be in the range [0, 32768]
        BF.RESERVE f 0.01 100 EXPANSION 32769 => -ERR expansion must be in the range [0, 32768]
        BF.RESERVE f 0.01 100 NONSCALING EXPANSION 2 => -Nonscaling filters cannot expand
        BF.RESERVE f 0.01 100 EXPANSION 2 NONSCALING => -Nonscaling filters cannot expand
        EXISTS f => :0
        """,
    "what is checked first": """
        BF.RESERVE f x x EXPANSION x => -ERR bad error rate
        BF.RESERVE f 2 x EXPANSION x => -ERR error rate must be in the range (0.000000, 1.000000)
        BF.RESERVE f 0.1 x EXPANSION x => -ERR bad capacity
        BF.ADD f a => :1 | #t
        BF.RESERVE f x x => -ERR bad error rate
        BF.RESERVE f 0.1 1 EXPANSION x => -ERR bad expansion
        BF.RESERVE f 0.1 1 => -ERR item exists
        SET s x => +OK
        BF.RESERVE s x 1 => -ERR bad error rate
        BF.INSERT s CAPACITY 0 ITEMS a => -Bad capacity
        """,
    "add": """
        BF.ADD f a => :1 | #t
        BF.ADD f a => :0 | #f
        BF.ADD f '' => :1 | #t
        BF.ADD f '' => :0 | #f
        BF.MADD f a b c => *[:0 :1 :1] | *[#f #t #t]
        BF.MADD f d d d => *[:1 :0 :0] | *[#t #f #f]
        BF.MADD f a => *[:0] | *[#f]
        BF.MADD g x y => *[:1 :1] | *[#t #t]
        bf.add F a => :1 | #t
        Bf.MaDd F a A => *[:0 :1] | *[#f #t]
        BF.CARD f => :5
        BF.CARD g => :2
        BF.CARD F => :2
        BF.INFO f
            => *[+Capacity :100 +Size :<n> +Number of filters :1 +Number of items inserted :5 +Expansion rate :2]
            | %{+Capacity: :100 +Size: :<n> +Number of filters: :1 +Number of items inserted: :5 +Expansion rate: :2}
        """,
    "exists": """
        BF.EXISTS f a => :0 | #f
        BF.MEXISTS f a b => *[:0 :0] | *[#f #f]
        BF.MADD f a b => *[:1 :1] | *[#t #t]
        BF.EXISTS f a => :1 | #t
        BF.MEXISTS f a b zzzzzz => *[:1 :1 :0] | *[#t #t #f]
        BF.MEXISTS f a a a => *[:1 :1 :1] | *[#t #t #t]
        BF.MEXISTS f zzzzzz => *[:0] | *[#f]
        BF.RESERVE e 0.01 100 => +OK
        BF.EXISTS e a => :0 | #f
        BF.MEXISTS e a '' => *[:0 :0] | *[#f #f]
        EXISTS g => :0
        """,
    "insert": """
        BF.INSERT f ITEMS a b a => *[:1 :1 :0] | *[#t #t #f]
        BF.INSERT f NOCREATE ITEMS b c => *[:0 :1] | *[#f #t]
        BF.INSERT g NOCREATE ITEMS a => -ERR not found
        BF.INSERT g CAPACITY 300 ERROR 0.001 EXPANSION 3 ITEMS a => *[:1] | *[#t]
        BF.INFO g CAPACITY => *[:300] | %{+Capacity: :300}
        BF.INFO g EXPANSION => *[:3] | %{+Expansion rate: :3}
        BF.INSERT g CAPACITY 900 EXPANSION 9 ITEMS b => *[:1] | *[#t]
        BF.INFO g CAPACITY => *[:300] | %{+Capacity: :300}
        BF.INSERT h NONSCALING ITEMS a => *[:1] | *[#t]
        BF.INFO h EXPANSION => *[$-1] | %{+Expansion rate: _}
        BF.INSERT i EXPANSION 0 ITEMS a => *[:1] | *[#t]
        BF.INFO i EXPANSION => *[$-1] | %{+Expansion rate: _}
        BF.INSERT j EXPANSION 4 NONSCALING ITEMS a => *[:1] | *[#t]
        BF.INFO j EXPANSION => *[$-1] | %{+Expansion rate: _}
        bf.insert k expansion 4 capacity 7 error 0.5 items ITEMS items => *[:1 :1] | *[#t #t]
        BF.INFO k CAPACITY => *[:7] | %{+Capacity: :7}
        BF.INSERT l CAPACITY 5 CAPACITY 6 ITEMS a => *[:1] | *[#t]
        BF.INFO l CAPACITY => *[:6] | %{+Capacity: :6}
        BF.INSERT m ITEMS NOCREATE CAPACITY 0 => *[:1 :1 :1] | *[#t #t #t]
        BF.MEXISTS m NOCREATE CAPACITY 0 => *[:1 :1 :1] | *[#t #t #t]
        """,
    "insert with bad options": """
        BF.INSERT f CAPACITY x ITEMS a => -Bad capacity
        BF.INSERT f CAPACITY 0 ITEMS a => -Bad capacity
        BF.INSERT f CAPACITY -5 ITEMS a => -Bad capacity
        BF.INSERT f CAPACITY 1073741825 ITEMS a => -Bad capacity
        BF.INSERT f ERROR x ITEMS a => -Bad error rate
        BF.INSERT f ERROR 0 ITEMS a => -Bad error rate
        BF.INSERT f ERROR 1 ITEMS a => -Bad error rate
        BF.INSERT f ERROR nan ITEMS a => -Bad error rate
        BF.INSERT f EXPANSION x ITEMS a => -Bad expansion
        BF.INSERT f EXPANSION -1 ITEMS a => -Bad expansion
        BF.INSERT f EXPANSION 32769 ITEMS a => -Bad expansion
        BF.INSERT f foo ITEMS a => -Unknown argument received
        BF.INSERT f a b => -Unknown argument received
        BF.INSERT f CAPACITY 100 a b => -Unknown argument received
        BF.INSERT f NOCREATE CAPACITY x ITEMS a => -Bad capacity
        EXISTS f => :0
        """,
    "arity": """
        BF.RESERVE => -ERR wrong number of arguments for 'bf.reserve' command
        BF.RESERVE f 0.1 => -ERR wrong number of arguments for 'bf.reserve' command
        BF.RESERVE f 0.01 100 NONSCALING EXPANSION 0 x => -ERR wrong number of arguments for 'bf.reserve' command
        BF.ADD f => -ERR wrong number of arguments for 'bf.add' command
        BF.ADD f a b => -ERR wrong number of arguments for 'bf.add' command
        BF.MADD f => -ERR wrong number of arguments for 'bf.madd' command
        BF.EXISTS f => -ERR wrong number of arguments for 'bf.exists' command
        BF.EXISTS f a b c => -ERR wrong number of arguments for 'bf.exists' command
        BF.MEXISTS f => -ERR wrong number of arguments for 'bf.mexists' command
        BF.INSERT f ITEMS => -ERR wrong number of arguments for 'bf.insert' command
        BF.INSERT f NOCREATE ITEMS => -ERR wrong number of arguments for 'bf.insert' command
        BF.INSERT f CAPACITY 100 => -ERR wrong number of arguments for 'bf.insert' command
        BF.INSERT f NOCREATE CAPACITY => -ERR wrong number of arguments for 'bf.insert' command
        BF.INSERT f NOCREATE ERROR => -ERR wrong number of arguments for 'bf.insert' command
        BF.INSERT f NOCREATE EXPANSION => -ERR wrong number of arguments for 'bf.insert' command
        BF.INSERT f NOCREATE NONSCALING => -ERR wrong number of arguments for 'bf.insert' command
        BF.CARD => -ERR wrong number of arguments for 'bf.card' command
        BF.CARD f a => -ERR wrong number of arguments for 'bf.card' command
        BF.INFO => -ERR wrong number of arguments for 'bf.info' command
        BF.INFO f a b => -ERR wrong number of arguments for 'bf.info' command
        BF.SCANDUMP f => -ERR wrong number of arguments for 'bf.scandump' command
        BF.SCANDUMP f 0 a => -ERR wrong number of arguments for 'bf.scandump' command
        BF.LOADCHUNK f 1 => -ERR wrong number of arguments for 'bf.loadchunk' command
        BF.LOADCHUNK f 1 a b => -ERR wrong number of arguments for 'bf.loadchunk' command
        BF.DEBUG => -ERR wrong number of arguments for 'bf.debug' command
        BF.DEBUG f a => -ERR wrong number of arguments for 'bf.debug' command
        EXISTS f => :0
        """,
    "a key that is absent": """
        BF.CARD f => :0
        BF.INFO f => -ERR not found
        BF.INFO f CAPACITY => -ERR not found
        BF.INFO f nonsense => -ERR not found
        BF.SCANDUMP f 0 => -ERR not found
        BF.SCANDUMP f x => -ERR not found
        BF.LOADCHUNK f 2 x => -ERR not found
        BF.LOADCHUNK f 0 x => -ERR not found
        BF.LOADCHUNK f -1 x => -ERR not found
        BF.DEBUG f => -ERR not found
        BF.INSERT f NOCREATE ITEMS a => -ERR not found
        EXISTS f => :0
        """,
    "a key of another type": f"""
        SET s value => +OK
        BF.RESERVE s 0.01 100 => {WRONG_TYPE}
        BF.ADD s a => {WRONG_TYPE}
        BF.MADD s a b => {WRONG_TYPE}
        BF.INSERT s ITEMS a => {WRONG_TYPE}
        BF.INSERT s NOCREATE ITEMS a => {WRONG_TYPE}
        BF.CARD s => {WRONG_TYPE}
        BF.INFO s => {WRONG_TYPE}
        BF.INFO s CAPACITY => {WRONG_TYPE}
        BF.SCANDUMP s 0 => {WRONG_TYPE}
        BF.LOADCHUNK s 1 x => {WRONG_TYPE}
        BF.DEBUG s => {WRONG_TYPE}
        BF.ADD f a => :1 | #t
        GET f => {WRONG_TYPE}
        SADD f a => {WRONG_TYPE}
        GET s => "value"
        """,
    "info": """
        BF.RESERVE f 0.01 10 EXPANSION 3 => +OK
        BF.MADD f a b => *[:1 :1] | *[#t #t]
        BF.INFO f CAPACITY => *[:10] | %{+Capacity: :10}
        BF.INFO f SIZE => *[:<n>] | %{+Size: :<n>}
        BF.INFO f FILTERS => *[:1] | %{+Number of filters: :1}
        BF.INFO f ITEMS => *[:2] | %{+Number of items inserted: :2}
        BF.INFO f EXPANSION => *[:3] | %{+Expansion rate: :3}
        bf.info f Items => *[:2] | %{+Number of items inserted: :2}
        BF.INFO f nonsense => -Invalid information value
        BF.INFO f '' => -Invalid information value
        BF.INFO f ITEM => -Invalid information value
        BF.RESERVE h 0.01 10 NONSCALING => +OK
        BF.INFO h
            => *[+Capacity :10 +Size :<n> +Number of filters :1 +Number of items inserted :0 +Expansion rate $-1]
            | %{+Capacity: :10 +Size: :<n> +Number of filters: :1 +Number of items inserted: :0 +Expansion rate: _}
        """,
    "growing": """
        BF.RESERVE f 0.000001 4 EXPANSION 3 => +OK
        BF.MADD f a b c d => *[:1 :1 :1 :1] | *[#t #t #t #t]
        BF.INFO f FILTERS => *[:1] | %{+Number of filters: :1}
        BF.ADD f a => :0 | #f
        BF.INFO f FILTERS => *[:1] | %{+Number of filters: :1}
        BF.ADD f e => :1 | #t
        BF.INFO f FILTERS => *[:2] | %{+Number of filters: :2}
        BF.INFO f CAPACITY => *[:16] | %{+Capacity: :16}
        BF.MADD f f g h i j k l m n o p => *[:1 :1 :1 :1 :1 :1 :1 :1 :1 :1 :1] | *[#t #t #t #t #t #t #t #t #t #t #t]
        BF.INFO f FILTERS => *[:2] | %{+Number of filters: :2}
        BF.ADD f q => :1 | #t
        BF.INFO f
            => *[+Capacity :52 +Size :<n> +Number of filters :3 +Number of items inserted :17 +Expansion rate :3]
            | %{+Capacity: :52 +Size: :<n> +Number of filters: :3 +Number of items inserted: :17 +Expansion rate: :3}
        BF.MEXISTS f a e p q => *[:1 :1 :1 :1] | *[#t #t #t #t]
        BF.MADD f a e p q => *[:0 :0 :0 :0] | *[#f #f #f #f]
        BF.CARD f => :17
        BF.RESERVE g 0.000001 2 EXPANSION 1 => +OK
        BF.MADD g a b c d e => *[:1 :1 :1 :1 :1] | *[#t #t #t #t #t]
        BF.INFO g CAPACITY => *[:6] | %{+Capacity: :6}
        BF.INFO g FILTERS => *[:3] | %{+Number of filters: :3}
        """,
    "a full filter that does not grow": """
        BF.RESERVE f 0.000001 3 NONSCALING => +OK
        BF.MADD f a b => *[:1 :1] | *[#t #t]
        BF.MADD f a c d e => *[:0 :1 -ERR non scaling filter is full] | *[#f #t -ERR non scaling filter is full]
        BF.MADD f a b c => *[:0 :0 :0] | *[#f #f #f]
        BF.ADD f c => :0 | #f
        BF.ADD f d => -ERR non scaling filter is full
        BF.MADD f d => *[-ERR non scaling filter is full]
        BF.INSERT f ITEMS a d b => *[:0 -ERR non scaling filter is full] | *[#f -ERR non scaling filter is full]
        BF.INSERT f NOCREATE ITEMS d => *[-ERR non scaling filter is full]
        BF.MEXISTS f a b c d e => *[:1 :1 :1 :0 :0] | *[#t #t #t #f #f]
        BF.CARD f => :3
        BF.INFO f FILTERS => *[:1] | %{+Number of filters: :1}
        BF.INSERT g CAPACITY 1 ERROR 0.000001 NONSCALING ITEMS a b c => *[:1 -ERR non scaling filter is full]
            | *[#t -ERR non scaling filter is full]
        BF.CARD g => :1
        """,
    "dump": """
        BF.ADD f a => :1 | #t
        BF.SCANDUMP f x => -Second argument must be numeric
        BF.SCANDUMP f '' => -Second argument must be numeric
        BF.SCANDUMP f 1.5 => -Second argument must be numeric
        BF.SCANDUMP f -1 => *[:0 ""]
        BF.SCANDUMP f 9223372036854775807 => *[:0 ""]
        BF.LOADCHUNK f x a => -ERR Second argument must be numeric
        BF.LOADCHUNK g x a => -ERR Second argument must be numeric
        BF.LOADCHUNK g 1 x => -ERR received bad data
        BF.LOADCHUNK g 1 '' => -ERR received bad data
        EXISTS g => :0
        BF.LOADCHUNK f 0 x => -ERR received bad data
        BF.LOADCHUNK f -1 x => -ERR received bad data
        BF.LOADCHUNK f 9223372036854775807 x => -ERR invalid offset - no link found
        BF.EXISTS f a => :1 | #t
        BF.CARD f => :1
        """,
    "keys and items of any bytes": """
        BF.ADD '' a => :1 | #t
        BF.EXISTS '' a => :1 | #t
        BF.CARD '' => :1
        BF.ADD 'two words' 'an item' => :1 | #t
        BF.MEXISTS 'two words' 'an item' an item => *[:1 :0 :0] | *[#t #f #f]
        BF.INFO 'two words' ITEMS => *[:1] | %{+Number of items inserted: :1}
        """,
    "as other keys": """
        BF.ADD f a => :1 | #t
        EXPIRE f 100 => :1
        BF.ADD f b => :1 | #t
        TTL f => :100
        RENAME f g => +OK
        BF.MEXISTS g a b => *[:1 :1] | *[#t #t]
        BF.EXISTS f a => :0 | #f
        DEL g => :1
        BF.CARD g => :0
        BF.ADD f a => :1 | #t
        UNLINK f => :1
        BF.ADD f a => :1 | #t
        SET f x => +OK
        GET f => "x"
        """,
}

DIFFERENT = {
    "a key may have the name of an option": """
        BF.RESERVE NONSCALING 0.01 100 => +OK
        BF.INFO NONSCALING EXPANSION => *[:2] | %{+Expansion rate: :2}
        BF.RESERVE EXPANSION 0.01 100 => +OK
        BF.INFO EXPANSION EXPANSION => *[:2] | %{+Expansion rate: :2}
        """,
    "a word that is no option is an error, not ignored": """
        BF.RESERVE f 0.01 100 foo => -Unknown argument received
        BF.RESERVE f 0.01 100 EXPANSION 2 foo => -Unknown argument received
        BF.RESERVE f 0.01 100 NONSCALIN => -Unknown argument received
        EXISTS f => :0
        """,
    "an option is the whole word, not its first letter": """
        BF.INSERT f itemsfoo a => -Unknown argument received
        BF.INSERT f i a => -Unknown argument received
        BF.INSERT f capacityx 5 ITEMS a => -Unknown argument received
        BF.INSERT f errors 0.1 ITEMS a => -Unknown argument received
        BF.INSERT f nocreat ITEMS a => -Unknown argument received
        BF.INSERT f nonsense ITEMS a => -Unknown argument received
        BF.INSERT f '' ITEMS a => -Unknown argument received
        EXISTS f => :0
        """,
    "another type is an error for every command, not an absent item": f"""
        SET s value => +OK
        BF.EXISTS s a => {WRONG_TYPE}
        BF.MEXISTS s a b => {WRONG_TYPE}
        """,
    "the type is ours: the cells of a filter of RedisBloom would not be understood": """
        BF.ADD f a => :1 | #t
        TYPE f => +mankai-bf
        """,
    "a filter can be copied": """
        BF.ADD f a => :1 | #t
        COPY f g => :1
        BF.EXISTS g a => :1 | #t
        BF.ADD g b => :1 | #t
        BF.CARD f => :1
        BF.CARD g => :2
        """,
}

# What RedisBloom lacks and its users have asked for.
OURS = {
    "an absent filter is told from an absent item": """
        BF.EXISTS f a STRICT => -ERR not found
        BF.ADD f a => :1 | #t
        BF.EXISTS f a STRICT => :1 | #t
        BF.EXISTS f zzzzzz strict => :0 | #f
        BF.EXISTS f a STRICTER => -Unknown argument received
        SET s value => +OK
        BF.EXISTS s a STRICT => -WRONGTYPE Operation against a key holding the wrong kind of value
        """,
    "a filter is emptied in its place": """
        BF.CLEAR f => -ERR not found
        BF.RESERVE f 0.000001 2 EXPANSION 3 => +OK
        BF.MADD f a b c d e => *[:1 :1 :1 :1 :1] | *[#t #t #t #t #t]
        EXPIRE f 100 => :1
        BF.CLEAR f => +OK
        BF.CARD f => :0
        BF.MEXISTS f a b c d e => *[:0 :0 :0 :0 :0] | *[#f #f #f #f #f]
        BF.INFO f CAPACITY => *[:2] | %{+Capacity: :2}
        BF.INFO f EXPANSION => *[:3] | %{+Expansion rate: :3}
        TTL f => :100
        BF.CLEAR f => +OK
        BF.ADD f a => :1 | #t
        BF.CLEAR => -ERR wrong number of arguments for 'bf.clear' command
        BF.CLEAR f f => -ERR wrong number of arguments for 'bf.clear' command
        SET s value => +OK
        BF.CLEAR s => -WRONGTYPE Operation against a key holding the wrong kind of value
        """,
    "filters of one seed and size are merged": """
        BF.RESERVE f 0.000001 100 => +OK
        COPY f g => :1
        BF.MADD f a b => *[:1 :1] | *[#t #t]
        BF.MADD g b c => *[:1 :1] | *[#t #t]
        BF.MERGE f g => +OK
        BF.MEXISTS f a b c d => *[:1 :1 :1 :0] | *[#t #t #t #f]
        BF.MEXISTS g a b c d => *[:0 :1 :1 :0] | *[#f #t #t #f]
        BF.MERGE new f g => +OK
        BF.MEXISTS new a b c d => *[:1 :1 :1 :0] | *[#t #t #t #f]
        BF.MERGE other nothing => -ERR not found
        BF.MERGE f nothing => -ERR not found
        EXISTS other => :0
        SET s value => +OK
        BF.MERGE s f => -WRONGTYPE Operation against a key holding the wrong kind of value
        BF.MERGE f s => -WRONGTYPE Operation against a key holding the wrong kind of value
        BF.MERGE f => -ERR wrong number of arguments for 'bf.merge' command
        """,
    "items are removed from a deletable filter, as often as they were added": """
        BF.RESERVE f 0.000000001 10 DELETABLE => +OK
        BF.MADD f a b c => *[:1 :1 :1] | *[#t #t #t]
        BF.ADD f a => :0 | #f
        BF.CARD f => :3
        BF.REM f b => *[:1] | *[#t]
        BF.REM f b => *[:0] | *[#f]
        BF.REM f a zzz c c => *[:1 :0 :1 :0] | *[#t #f #t #f]
        BF.MEXISTS f a b c => *[:1 :0 :0] | *[#t #f #f]
        BF.REM f a a => *[:1 :0] | *[#t #f]
        BF.EXISTS f a => :0 | #f
        BF.CARD f => :0
        BF.MADD f c c c => *[:1 :0 :0] | *[#t #f #f]
        BF.INFO f
            => *[+Capacity :10 +Size :<n> +Number of filters :1 +Number of items inserted :1 +Expansion rate :2]
            | %{+Capacity: :10 +Size: :<n> +Number of filters: :1 +Number of items inserted: :1 +Expansion rate: :2}
        BF.INFO f DELETABLE => *[:1] | %{+Deletable: #t}
        BF.CLEAR f => +OK
        BF.MEXISTS f a b c => *[:0 :0 :0] | *[#f #f #f]
        BF.INFO f DELETABLE => *[:1] | %{+Deletable: #t}
        """,
    "a deletable filter is made by its options, in any order": """
        BF.RESERVE a 0.01 10 EXPANSION 3 DELETABLE => +OK
        BF.INFO a EXPANSION => *[:3] | %{+Expansion rate: :3}
        BF.RESERVE b 0.01 10 deletable NONSCALING => +OK
        BF.INFO b EXPANSION => *[$-1] | %{+Expansion rate: _}
        BF.RESERVE c 0.01 10 DELETABLE EXPANSION 3 SEED 00112233445566778899aabbccddeeff => +OK
        BF.INSERT d DELETABLE ITEMS a b => *[:1 :1] | *[#t #t]
        BF.REM d a => *[:1] | *[#t]
        BF.INSERT e ITEMS DELETABLE => *[:1] | *[#t]
        BF.INFO e DELETABLE => *[:0] | %{+Deletable: #f}
        BF.INSERT e DELETABLE ITEMS a => *[:1] | *[#t]
        BF.INFO e DELETABLE => *[:0] | %{+Deletable: #f}
        BF.RESERVE f 0.01 10 EXPANSION 3 DELETABLE foo => -Unknown argument received
        BF.RESERVE f 0.01 10 EXPANSION 3 DELETABLE foo bar
            => -ERR wrong number of arguments for 'bf.reserve' command
        """,
    "a deletable filter that does not grow has room for what comes when others have gone": """
        BF.RESERVE f 0.000000001 3 NONSCALING DELETABLE => +OK
        BF.MADD f a b c d => *[:1 :1 :1 -ERR non scaling filter is full] | *[#t #t #t -ERR non scaling filter is full]
        BF.MADD f a b d => *[:0 :0 -ERR non scaling filter is full] | *[#f #f -ERR non scaling filter is full]
        BF.REM f c => *[:1] | *[#t]
        BF.ADD f d => :1 | #t
        BF.ADD f e => -ERR non scaling filter is full
        BF.REM f a => *[:1] | *[#t]
        BF.ADD f e => -ERR non scaling filter is full
        BF.REM f a => *[:1] | *[#t]
        BF.ADD f e => :1 | #t
        BF.MEXISTS f a b c d e => *[:0 :1 :0 :1 :1] | *[#f #t #f #t #t]
        """,
    "an item that was added fifteen times stays: its counters end there": """
        BF.RESERVE f 0.000000001 10 DELETABLE => +OK
        BF.MADD f a a a a a a a => *[:1 :0 :0 :0 :0 :0 :0] | *[#t #f #f #f #f #f #f]
        BF.MADD f a a a a a a a => *[:0 :0 :0 :0 :0 :0 :0] | *[#f #f #f #f #f #f #f]
        BF.REM f a => *[:1] | *[#t]
        BF.MADD f a a => *[:0 :0] | *[#f #f]
        BF.REM f a a => *[:0 :0] | *[#f #f]
        BF.EXISTS f a => :1 | #t
        """,
    "units of an item are exact up to fourteen in a slot, and a slot holds one item": """
        BF.RESERVE f 0.0001 10 DELETABLE => +OK
        BF.MADD f a a a a a a a a a a => *[:1 :0 :0 :0 :0 :0 :0 :0 :0 :0] | *[#t #f #f #f #f #f #f #f #f #f]
        BF.MADD f a a a a a a a a a a => *[:0 :0 :0 :0 :0 :0 :0 :0 :0 :0] | *[#f #f #f #f #f #f #f #f #f #f]
        BF.REM f a a a a a a a a a a => *[:1 :1 :1 :1 :1 :1 :1 :1 :1 :1] | *[#t #t #t #t #t #t #t #t #t #t]
        BF.REM f a a a a a a a a a => *[:1 :1 :1 :1 :1 :1 :1 :1 :1] | *[#t #t #t #t #t #t #t #t #t]
        BF.EXISTS f a => :1 | #t
        BF.REM f a a => *[:1 :0] | *[#t #f]
        BF.CARD f => :0
        """,
    "items expire in a filter with a time to live": """
        BF.RESERVE f 0.01 10 TTL 86400 SEED 0123456789abcdef0123456789abcdef => +OK
        BF.MADD f a b => *[:1 :1] | *[#t #t]
        BF.ADD f a => :0 | #f
        BF.EXISTS f a => :1 | #t
        BF.CARD f => :2
        BF.INFO f TTL => *["86400"] | %{+Time to live: ,86400.0}
        BF.INFO f DELETABLE => *[:0] | %{+Deletable: #f}
        BF.REM f a => -ERR nothing can be removed from this filter: reserve one with DELETABLE
        BF.ADVANCE f 1000 => +OK
        BF.ADVANCE f foo => -ERR the time must be an integer: milliseconds since 1970
        BF.ADVANCE f 4102444800000 => -ERR the time is more than a day ahead of the server's clock
        BF.RESERVE g 0.01 10 DELETABLE TTL 86400 RESOLUTION 7200 NONSCALING SEED 0123456789abcdef0123456789abcdef => +OK
        BF.INFO g TTL => *["86400"] | %{+Time to live: ,86400.0}
        BF.MADD g a b a => *[:1 :1 :0] | *[#t #t #f]
        BF.REM g a a a b => *[:1 :1 :0 :1] | *[#t #t #f #t]
        BF.INSERT h TTL 60 ERROR 0.001 CAPACITY 50 ITEMS a => *[:1] | *[#t]
        BF.INFO h TTL => *["60"] | %{+Time to live: ,60.0}
        BF.ADD plain a => :1 | #t
        BF.INFO plain TTL => *[$-1] | %{+Time to live: _}
        BF.ADVANCE plain 1000 => -ERR items of this filter do not expire: reserve it with TTL
        BF.MERGE f plain => -ERR filters whose items expire cannot be merged: add the items to one of them
        """,
    "a time to live that is no number of seconds is refused": """
        BF.RESERVE f 0.01 10 TTL => -Unknown argument received
        BF.RESERVE f 0.01 10 TTL 0 => -ERR TTL must be a number of seconds above 0, at most 100 years
        BF.RESERVE f 0.01 10 TTL -1 => -ERR TTL must be a number of seconds above 0, at most 100 years
        BF.RESERVE f 0.01 10 TTL nan => -ERR TTL must be a number of seconds above 0, at most 100 years
        BF.RESERVE f 0.01 10 TTL 1e99 => -ERR TTL must be a number of seconds above 0, at most 100 years
        BF.RESERVE f 0.01 10 RESOLUTION 10 => -ERR a resolution without a time to live: give both
        BF.RESERVE f 0.01 10 TTL 100 RESOLUTION 0
            => -ERR RESOLUTION must be a number of seconds above 0, at most 100 years
        BF.INSERT f TTL x ITEMS a => -ERR TTL must be a number of seconds above 0, at most 100 years
        BF.RESERVE f 0.000000001 10 TTL 60 => -ERR a rate so low is out of reach of a cuckoo filter: give at least 1.221e-06
        BF.RESERVE f 0.01 10 EXPANSION 3 TTL 60 => -ERR a cuckoo filter cannot grow by a factor of 3: give a power of 2, such as 2
        EXISTS f => :0
        """,
    "nothing is removed from other filters": """
        BF.REM f a b => *[:0 :0] | *[#f #f]
        EXISTS f => :0
        BF.ADD f a => :1 | #t
        BF.REM f a => -ERR nothing can be removed from this filter: reserve one with DELETABLE
        BF.EXISTS f a => :1 | #t
        BF.REM f => -ERR wrong number of arguments for 'bf.rem' command
        SET s value => +OK
        BF.REM s a => -WRONGTYPE Operation against a key holding the wrong kind of value
        """,
    "deletable filters are not merged": """
        BF.RESERVE f 0.01 10 DELETABLE => +OK
        COPY f g => :1
        BF.MERGE f g => -ERR deletable filters cannot be merged: add the items to one of them
        BF.MERGE new f => -ERR deletable filters cannot be merged: add the items to one of them
        EXISTS new => :0
        """,
    "the rate of now": """
        BF.RESERVE f 0.01 100 => +OK
        BF.INFO f FPR => *["0"] | %{+False positive rate: ,0.0}
        BF.INFO g FPR => -ERR not found
        """,
}


@needs_module
class ContractTest(OneServerTest):
    def check_all(self, client, scripts):
        for name, script in scripts.items():
            client.must("FLUSHALL")
            with self.subTest(table=name):
                self.check(client, script)

    @in_both_protocols
    def test_replies_are_those_of_the_contract(self, client):
        self.check_all(client, CONTRACT)

    @in_both_protocols
    def test_where_redisbloom_is_broken_we_are_right(self, client):
        self.check_all(client, DIFFERENT)

    @in_both_protocols
    def test_what_redisbloom_lacks(self, client):
        self.check_all(client, OURS)

    @in_both_protocols
    def test_the_rate_of_now_grows_to_the_one_that_was_asked_for(self, client):
        client.must("BF.RESERVE", "f", "0.02", 5000, "NONSCALING")
        last = 0.0
        for start in range(0, 5000, 1000):
            client.must("BF.MADD", "f", *range(start, start + 1000))
            (rate,) = client.must("BF.INFO", "f", "FPR")
            rate = rate[1] if client.protocol == 3 else float(rate)
            self.assertGreater(rate, last)
            last = rate
        self.assertLess(last, 0.03)
        self.assertGreater(last, 0.005)

    @in_both_protocols
    def test_items_and_keys_are_binary_safe(self, client):
        items = [bytes([byte]) for byte in range(256)] + [b"\r\n", b"\x00" * 100, bytes(range(256)) * 4096]
        for key in (b"\x00\xff", b"a\r\nb", b"\xff" * 1000):
            new = client.call("BF.MADD", key, *items)
            self.assertTrue(all(client.call("BF.MEXISTS", key, *items)))
            self.assertEqual(client.call("BF.CARD", key), sum(new))
            self.assertGreater(sum(new), len(items) - 20, "a hundredth of the items may be taken for another")

    @in_both_protocols
    def test_the_largest_filter_is_a_matter_of_memory_not_of_luck(self, client):
        """The largest capacity at the smallest rate: an error or a filter, and the server lives."""
        self.server.client().config("maxmemory", "100mb")
        try:
            reply = client.call("BF.RESERVE", "f", "1e-9", 1 << 30)
            again = client.call("BF.ADD", "g", "a")
        finally:
            self.server.client().config("maxmemory", "0")
        self.assertTrue(reply == b"OK" or isinstance(reply, Error) and reply.startswith(("ERR", "OOM")), reply)
        self.assertTrue(again in (1, True) or again.startswith("OOM"), again)

    @in_both_protocols
    def test_memory_usage_is_at_least_what_info_says(self, client):
        client.must("BF.RESERVE", "f", "0.01", 100000)
        (size,) = client.call("BF.INFO", "f", "SIZE")
        size = size[1] if client.protocol == 3 else size
        usage = client.call("MEMORY", "USAGE", "f")
        self.assertGreater(size, 100000)  # 9.6 bits per key and more
        self.assertLess(size, 300000)
        self.assertGreaterEqual(usage, size)
        self.assertLess(usage, size + 1000)

    @in_both_protocols
    def test_a_small_filter_takes_256_bytes_until_it_grows_and_after_it_is_loaded(self, client):
        most = 256  # without the engine's part, which depends on its allocator

        def usage(key):
            (size,) = client.must("BF.INFO", key, "SIZE")
            return size[1] if client.protocol == 3 else size

        client.must("BF.ADD", "f", "a")
        self.assertLessEqual(usage("f"), most)
        client.must("COPY", "f", "copy")
        client.must("RESTORE", "restored", 0, client.must("DUMP", "f"))
        client.must("BF.LOADCHUNK", "loaded", *client.must("BF.SCANDUMP", "f", 0))
        client.must("BF.LOADCHUNK", "loaded", *client.must("BF.SCANDUMP", "f", 1))
        client.must("BF.MERGE", "f", "copy", "f")
        client.must("BF.MADD", "copy", *range(200))  # it has room for 100
        grown = usage("copy")
        self.assertGreater(grown, most)
        client.must("RESTORE", "grown", 0, client.must("DUMP", "copy"))
        self.assertLess(abs(grown - usage("grown")), 64)  # nothing of the small filter is left
        client.must("BF.CLEAR", "copy")
        for key in ("f", "copy", "restored", "loaded"):
            self.assertLessEqual(usage(key), most, key)
            client.must("BF.ADD", key, "b")
            self.assertTrue(client.must("BF.EXISTS", key, "b"))
        self.assertEqual(len(set(map(bytes, client.must("DEBUG", "DIGEST-VALUE", "f", "restored", "loaded")))), 1)

    def test_an_item_takes_few_bits_at_any_rate_whether_the_filter_grows_or_not(self):
        client = self.server.client()
        for rate, most_growing, most_fixed in ((1e-2, 12.6, 11.1), (1e-3, 19, 17), (1e-4, 23, 23), (1e-6, 36, 33), (1e-9, 52, 50)):
            for items in (1000, 10_000, 1_000_000):
                for most, options in ((most_growing, ()), (most_fixed, ("NONSCALING",))):
                    client.must("BF.RESERVE", "f", rate, items, *options)
                    with self.subTest(rate=rate, items=items, options=options):
                        self.assertLess(8 * client.must("BF.INFO", "f", "SIZE")[0], most * items)
                    client.must("DEL", "f")

    @in_both_protocols
    def test_debug_says_a_line_for_the_whole_and_one_for_each_filter(self, client):
        self.assertRegex(client.call("BF.RESERVE", "f", "0.01", 4, "BOUND", "first"), "ERR bad bound: give gradual or total")
        client.must("BF.RESERVE", "f", "0.00000012", 4)
        client.must("BF.MADD", "f", *range(13))
        whole, *filters = client.must("BF.DEBUG", "f")
        self.assertEqual(whole, b"size:13")
        # 1/2, 1/6 and 1/12 of the error.
        for line, *words in zip(filters, (4, 8, 16), (4, 8, 1), (b"6e-08", b"2e-08", b"1e-08"), strict=True):
            self.assertRegex(line, rb"\Abytes:\d+ bits:\d+ hashes:\d+ hashwidth:64 "
                                   rb"capacity:%d size:%d ratio:%s\Z" % tuple(words))


@needs_module
class DumpTest(OneServerTest):
    """SCANDUMP and LOADCHUNK, round and round."""

    FILTERS = {
        "empty": (("BF.RESERVE", "empty", "0.01", 100), 0),
        "default": (("BF.ADD", "default", "0"), 50),
        "grown": (("BF.RESERVE", "grown", "0.001", 10), 700),
        "constant": (("BF.RESERVE", "constant", "0.001", 50, "EXPANSION", 1), 300),
        "nonscaling": (("BF.RESERVE", "nonscaling", "0.01", 500, "NONSCALING"), 500),
        "full": (("BF.RESERVE", "full", "0.01", 20, "NONSCALING"), 60),
        "rough": (("BF.RESERVE", "rough", "0.5", 1000), 1000),
        "fine": (("BF.RESERVE", "fine", "1e-9", 200), 150),
        "deletable": (("BF.RESERVE", "deletable", "0.01", 50, "DELETABLE"), 400),
        "deletable, full": (("BF.RESERVE", "deletable, full", "0.01", 50, "NONSCALING", "DELETABLE"), 100),
        "counters": (("BF.RESERVE", "counters", "0.01", 50, "EXPANSION", 3, "DELETABLE"), 400),
        "expiring": (("BF.RESERVE", "expiring", "0.01", 50, "TTL", 2_600_000), 400),
        "expiring, deletable": (("BF.RESERVE", "expiring, deletable", "0.01", 50, "TTL", 2_600_000, "DELETABLE"), 400),
    }

    def fill(self, client):
        for name, (first, count) in self.FILTERS.items():
            client.must(*first)
            if count:
                client.must("BF.MADD", name, *range(count))

    @staticmethod
    def answers(client, key):
        return [render(client.call("BF.MEXISTS", key, *range(2000))), render(client.call("BF.CARD", key)),
                render(client.call("BF.INFO", key))]

    @in_both_protocols
    def test_a_copy_answers_as_the_original(self, client):
        self.fill(client)
        for name in self.FILTERS:
            with self.subTest(filter=name):
                for iterator, data in client.chunks("BF", name):
                    self.assertEqual(client.call("BF.LOADCHUNK", "copy", iterator, data), b"OK")
                self.assertEqual(self.answers(client, "copy"), self.answers(client, name))
                self.assertEqual(list(client.chunks("BF", "copy")), list(client.chunks("BF", name)))
                more = [f"more{number}" for number in range(300)]
                self.assertEqual(render(client.call("BF.MADD", "copy", *more)),
                                 render(client.call("BF.MADD", name, *more)))
                self.assertEqual(self.answers(client, "copy"), self.answers(client, name))
                client.must("DEL", "copy")

    @in_both_protocols
    def test_the_first_chunk_is_the_header_and_the_end_is_zero(self, client):
        client.must("BF.ADD", "f", "a")
        first, header = client.must("BF.SCANDUMP", "f", 0)
        self.assertEqual(first, 1)
        self.assertGreater(len(header), 0)
        chunks = list(client.chunks("BF", "f"))
        self.assertEqual(len(chunks), 2)
        self.assertEqual(render(client.call("BF.SCANDUMP", "f", chunks[-1][0])), '*[:0 ""]')

    def test_large_filters_come_in_chunks_of_sixteen_megabytes(self):
        client = self.client
        client.must("BF.RESERVE", "f", "0.001", 12_000_000, "NONSCALING")
        client.must("BF.MADD", "f", *range(1000))
        sizes = []
        for iterator, data in client.chunks("BF", "f"):
            sizes.append(len(data))
            client.must("BF.LOADCHUNK", "copy", iterator, data)
        self.assertEqual(sizes[1], 16 << 20)
        self.assertTrue(all(size <= 16 << 20 for size in sizes), sizes)
        self.assertGreater(sum(sizes), 20 << 20)
        self.assertEqual(self.answers(client, "copy"), self.answers(client, "f"))

    @in_both_protocols
    def test_a_header_on_a_filter_that_is_there_is_refused(self, client):
        client.must("BF.ADD", "f", "a")
        client.must("BF.ADD", "g", "b")
        _, header = client.must("BF.SCANDUMP", "f", 0)
        self.assertEqual(client.call("BF.LOADCHUNK", "g", 1, header), "ERR received bad data")
        self.assertEqual(client.call("BF.EXISTS", "g", "b"), 1)

    @in_both_protocols
    def test_a_chunk_that_does_not_fit_is_refused(self, client):
        client.must("BF.ADD", "f", "a")
        (_, header), (end, data) = client.chunks("BF", "f")
        client.must("BF.LOADCHUNK", "g", 1, header)
        self.assertEqual(client.call("BF.LOADCHUNK", "g", end + 8, data + bytes(8)),
                         "ERR invalid chunk - Too big for current filter")
        self.assertEqual(client.call("BF.LOADCHUNK", "g", end, data), b"OK")
        self.assertEqual(client.call("BF.EXISTS", "g", "a"), 1)

    @in_both_protocols
    def test_a_chunk_that_comes_again_changes_nothing(self, client):
        """A client whose connection broke does not know whether its last chunk arrived."""
        client.must("BF.ADD", "f", "a")
        chunks = list(client.chunks("BF", "f"))
        for iterator, chunk in (*chunks, *chunks[::-1]):
            self.assertIn(client.call("BF.LOADCHUNK", "g", iterator, chunk), (b"OK", "ERR received bad data"))
        self.assertEqual(self.answers(client, "g"), self.answers(client, "f"))


@needs_module
class ConfigTest(OneServerTest):
    """The defaults are configuration, changed while the server runs. 7.0 puts the module's name and a dot in front."""

    def name(self, short):
        names = [bytes(name).decode() for name in self.client.must("CONFIG", "GET", f"*{short}")[::2]]
        names = [name for name in names if re.search(rf"\A(\w+\.)?{short}\Z", name)]  # not cbf-error-rate
        self.assertTrue(names)
        return names[0]

    def get(self, short):
        return bytes(self.client.must("CONFIG", "GET", self.name(short))[1])

    def set(self, short, value):
        return self.client.call("CONFIG", "SET", self.name(short), value)

    def test_the_defaults(self):
        self.assertEqual(self.get("bf-error-rate"), b"0.01")
        self.assertEqual(self.get("bf-initial-size"), b"100")
        self.assertEqual(self.get("bf-expansion-factor"), b"2")

    def test_new_filters_follow_the_configuration(self):
        before = {short: self.get(short) for short in ("bf-error-rate", "bf-initial-size", "bf-expansion-factor")}
        try:
            self.client.must("BF.ADD", "old", "a")
            for short, value in (("bf-error-rate", "0.001"), ("bf-initial-size", "5000"), ("bf-expansion-factor", "4")):
                self.assertEqual(self.set(short, value), b"OK")
                self.assertEqual(self.get(short), value.encode())
            self.client.must("BF.ADD", "new", "a")
            self.client.must("BF.INSERT", "inserted", "ITEMS", "a")
            for key in ("new", "inserted"):
                self.assertEqual(self.client.must("BF.INFO", key, "CAPACITY"), [5000])
                self.assertEqual(self.client.must("BF.INFO", key, "EXPANSION"), [4])
            self.assertEqual(self.client.must("BF.INFO", "old", "CAPACITY"), [100])
            self.set("bf-expansion-factor", "0")
            self.client.must("BF.ADD", "fixed", "a")
            self.assertEqual(render(self.client.must("BF.INFO", "fixed", "EXPANSION")), "*[$-1]")
            self.client.must("BF.RESERVE", "reserved", "0.01", 10)
            self.assertEqual(render(self.client.must("BF.INFO", "reserved", "EXPANSION")), "*[$-1]")
        finally:
            for short, value in before.items():
                self.set(short, value)

    def test_a_rate_above_a_quarter_is_a_quarter(self):
        before = self.get("bf-error-rate")
        try:
            self.assertEqual(self.set("bf-error-rate", "0.9"), b"OK")
            self.assertEqual(self.get("bf-error-rate"), b"0.25")
            self.client.must("BF.ADD", "f", "a")
        finally:
            self.set("bf-error-rate", before)
        self.client.must("BF.RESERVE", "g", "0.9", 100)
        for key in ("f", "g"):  # the first of many filters takes half of the rate
            self.assertRegex(bytes(self.client.must("BF.DEBUG", key)[1]), rb" ratio:0.125\Z")

    def test_values_outside_their_range_are_refused(self):
        for short, values in (("bf-error-rate", ("0", "1", "-1", "x", "nan", "")),
                              ("bf-initial-size", ("0", "1073741825", "x", "1.5")),
                              ("bf-expansion-factor", ("-1", "32769", "x"))):
            before = self.get(short)
            for value in values:
                with self.subTest(config=short, value=value):
                    self.assertIsInstance(self.set(short, value), Error)
                    self.assertEqual(self.get(short), before)


class TableTest(unittest.TestCase):
    """The tables can fail."""

    def test_a_line_is_a_command_and_its_replies(self):
        self.assertEqual(list(lines_of("BF.ADD 'a b' ''\n  => :1\n  | #t\nPING => +PONG")),
                         [(["BF.ADD", "a b", ""], ":1", "#t"), (["PING"], "+PONG", "+PONG")])

    def test_a_reply_matches_as_a_whole(self):
        self.assertTrue(matches("*[:<n> +a]", "*[:17 +a]"))
        for reply in ("*[:x +a]", "*[:17 +a] ", "*[:17 +ab]", ":17"):
            self.assertFalse(matches("*[:<n> +a]", reply))


if __name__ == "__main__":
    main()
