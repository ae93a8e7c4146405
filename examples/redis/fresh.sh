#!/bin/sh
# Prints the lines of a file that no earlier call has seen, with nothing but redis-cli and the module.
#
#   examples/redis/fresh.sh urls.txt                     # all of them, the first time
#   REDIS_CLI="redis-cli -p 7000 -c" examples/redis/fresh.sh urls.txt
#
# A line is held back once in a hundred times though it is new: that is the filter's error rate. None comes twice.
set -eu

urls=${1:?usage: fresh.sh FILE}
key=${KEY:-fresh:urls}
redis=${REDIS_CLI:-redis-cli}

# Made for a million lines at 1 %, and growing beyond; without this line the first BF.MADD makes a filter for a hundred,
# which grows, too, but is slower for it. "item exists" from the second call on.
# shellcheck disable=SC2086
reply=$($redis BF.RESERVE "$key" 0.01 1000000)
case $reply in
  OK | *"item exists"*) ;;
  *) echo "fresh.sh: $reply" >&2; exit 1 ;;
esac

# A batch is one message and one pass: 1 for each line that is new, in order. What is neither 1 nor 0 is an error, and
# the lines behind it were not added.
# shellcheck disable=SC2086
xargs -d '\n' -n 1000 $redis BF.MADD "$key" <"$urls" | paste - "$urls" | awk -F '\t' '
  $1 != "0" && $1 != "1" { print "fresh.sh: " $1 >"/dev/stderr"; exit 1 }
  $1 == "1" { print substr($0, 3) }'
