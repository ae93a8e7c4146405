#!/usr/bin/env python3
"""Judges what bench/run.sh measured by bench/targets.tsv, and makes the Markdown tables of docs/benchmarks.md of it.

Usage: bench/summarise.py RESULTS_DIR            prints the tables
       bench/summarise.py RESULTS_DIR DOCUMENT   puts them between the document's `results` marks
"""
import json
import pathlib
import re
import statistics
import sys

MARKS = re.compile(r"(<!-- results -->\n).*?(<!-- end of results -->)", re.DOTALL)
COLUMNS = ["insert", "insert-batch", "build", "hit", "miss", "mixed", "batch-hit", "batch-miss", "batch-mixed"]
UNITS = {"": 1, "ns": 1e-9, "ms": 1e-3, "s": 1, "B": 1, "MB": 1e6}


def read(path):
    """Returns (header lines as (key, rest), rows as dicts)."""
    if not path.exists():
        return [], []
    lines = [line.split("\t") for line in path.read_text().splitlines()]
    header = [(line[0][2:], line[1:]) for line in lines if line[0].startswith("# ")]
    table = [line for line in lines if not line[0].startswith(("#", "MISSING"))]
    return header, [dict(zip(table[0], line)) for line in table[1:]] if table else []


def read_json(path):
    return json.loads(path.read_text()) if path.exists() else {}


def numbers(cell):
    return [float(number) for number in cell.split()]


def series(results):
    """Returns all samples by name, in seconds and bytes; sample i of one series ran beside sample i of another."""
    found = {}
    for caller in ("plain", "native"):
        for row in read(results / f"peers-{caller}.tsv")[1]:
            peer = " ".join(row[column] for column in ("caller", "workload", "class", "peer"))
            found[f"{peer} {row['operation']}"] = [ns * 1e-9 for ns in numbers(row["ns"])]
            found[f"{peer} bits"] = [float(row["bits_per_key"])]
    for run in read_json(results / "layers.json").get("benchmarks", []):
        if run["run_type"] == "iteration":
            seconds = run["cpu_time"] * UNITS[run["time_unit"]]
            found.setdefault(run["run_name"], []).append(run.get("key", seconds))
    for name, sides in read_json(results / "redis.json").get("results", {}).items():
        found[f"redis {name}, ours"], found[f"redis {name}, theirs"] = sides["ours"], sides["peer"]
    for row in read(results / "dablooms.tsv")[1]:
        found[f"dablooms {row['bloom']} {row['keys']} {row['call']}"] = numbers(row["theirs_over_ours"])
    for row in read(results / "commands.tsv")[1]:
        for unit in ("seconds", "bytes"):
            found[f"{row['command']}, {unit}"] = numbers(row[unit])
    return found


def pairs(target, found):
    """Yields (name, ours, rival's name, theirs, limit) for all series that a target compares; none are None."""
    for name, ours in found.items():
        if not (match := re.fullmatch(target["ours"], name)):
            continue
        limit = found.get(match.expand(target.get("limit") or ""))
        rivals = [None]
        if target["theirs"]:
            pattern = re.compile(match.expand(target["theirs"]))
            rivals = [rival for rival in found if pattern.fullmatch(rival)]
        for rival in rivals:
            yield name, ours, rival, found.get(rival), limit


def judge(target, found):
    """Returns the row of a target."""
    sense, wanted, *unit = target["wanted"].split()

    def value(ours, theirs):
        if theirs is None:
            return statistics.median(ours) / UNITS[unit[0] if unit else ""]
        sides = zip(ours, theirs) if sense == "<=" else zip(theirs, ours)
        return statistics.median(one / other for one, other in sides)

    def shown(value):
        return " ".join([f"{value:.3g}", *unit])

    def meets(value):
        return value <= float(wanted) if sense == "<=" else value >= float(wanted)

    got = [(value(ours, theirs), rival or name, limit and value(limit, theirs))
           for name, ours, rival, theirs, limit in pairs(target, found)]
    row = [target["work"], target["against"], target["wanted"]]
    if not got:
        return [*row, "", "", "", "not measured"]
    worst, where, limit = (max if sense == "<=" else min)(got, key=lambda one: one[0])
    missed = [limit for value, _, limit in got if not meets(value)]
    out_of_reach = all(limit and not meets(limit) for limit in missed)
    verdict = "met" if not missed else "**MISSED**, out of reach" if out_of_reach else "**MISSED**"
    return [*row, shown(worst), shown(limit) if limit else "", where if len(got) > 1 else "", verdict]


def targets(results):
    found = series(results)
    rows = [judge(target, found) for target in read(pathlib.Path(__file__).with_name("targets.tsv"))[1]]
    return "### Targets\n\n" + markdown(["work", "against", "wanted", "got", "limit", "the worst of", ""], rows)


def markdown(columns, rows):
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def provenance(header):
    known = {key: rest[0] for key, rest in header if key not in ("peer", "MISSING")}
    peers = [f"{rest[0]} {rest[1]}".strip() for key, rest in header if key == "peer" and rest[1]]
    missing = [f"**MISSING** {': '.join(rest)}" for key, rest in header if key == "MISSING"]
    return (f"{known['cpu']}; {known['compiler']}; {known['flags']}; commit {known['commit']}.\n"
            f"Peers: {', '.join(peers + missing)}.\n")


def peers(rows):
    """A table for each workload, of the class 1%: the others' times are similar, and in the TSV; ns per key."""
    text = ""
    for workload in dict.fromkeys(row["workload"] for row in rows):
        here = [row for row in rows if (row["workload"], row["class"]) == (workload, "0.01")]
        used = [column for column in COLUMNS if any(row["operation"] == column for row in here)]
        lines = []
        for peer in dict.fromkeys(row["peer"] for row in here):
            own = {row["operation"]: row for row in here if row["peer"] == peer}
            one = next(iter(own.values()))
            fpr = "" if one["side"] == "limit" else f"{float(one['fpr']) * 100:.3g}"
            name = f"**{peer}**" if one["side"] == "ours" else peer
            cells = [f"{statistics.median(numbers(own[column]['ns'])):.3g}" if column in own else "" for column in used]
            lines.append([name, f"{float(one['bits_per_key']):.2f}", fpr, *cells])
        text += f"\n`{workload}`, 1%\n\n" + markdown(["", "bits/key", "fpr %", *used], lines)
    return text


def plain_table(title, path):
    header, rows = read(path)
    notes = "".join(key + "\n\n" for key, _ in header)
    if not rows:
        return f"\n### {title}\n\nMISSING\n"
    return f"\n### {title}\n\n" + notes + markdown(list(rows[0]), [list(row.values()) for row in rows])


def commands(path):
    _, rows = read(path)
    return "\n### Commands, medians\n\n" + markdown(["command", "seconds", "peak memory, MB", "lines of output"], [
        [row["command"], f"{statistics.median(numbers(row['seconds'])):.3g}",
         f"{statistics.median(numbers(row['bytes'])) / 1e6:.3g}", row["lines"]] for row in rows])


def redis(results):
    rows = [[name, *(f"{statistics.median(sides[side]):.3g}" for side in ("ours", "peer"))]
            for name, sides in read_json(results / "redis.json").get("results", {}).items()]
    return "\n### BF.* beside RedisBloom: µs per item, or bytes; medians\n\n" + (
        markdown(["measure", "ours", "RedisBloom"], rows) if rows else "MISSING\n")


def summary(results):
    text = targets(results)
    for caller in ("native", "plain"):
        header, rows = read(results / f"peers-{caller}.tsv")
        if rows:
            text += f"\n### Peers, {caller} caller: ns per key, medians\n\n{provenance(header)}{peers(rows)}"
    text += plain_table("Rates at 2e8 keys", results / "fpr.tsv")
    text += commands(results / "commands.tsv")
    text += plain_table("guard serve", results / "guard_serve.tsv")
    return text + plain_table("dablooms.h, durable, beside bitly's", results / "dablooms.tsv") + redis(results)


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    text = summary(pathlib.Path(sys.argv[1]))
    if len(sys.argv) == 2:
        print(text, end="")
        return
    document = pathlib.Path(sys.argv[2])
    updated, count = MARKS.subn(lambda match: match[1] + "\n" + text + "\n" + match[2], document.read_text())
    if count != 1:
        sys.exit(f"{document}: expected one pair of `results` marks, found {count}")
    document.write_text(updated)


if __name__ == "__main__":
    main()
