#!/usr/bin/env python3
"""Turns the TSVs of bench/run.sh into the Markdown tables of docs/benchmarks.md.

Usage: bench/summarise.py RESULTS_DIR            prints the tables
       bench/summarise.py RESULTS_DIR DOCUMENT   puts them between the document's `results` marks
"""
import pathlib
import re
import sys

MARKS = re.compile(r"(<!-- results -->\n).*?(<!-- end of results -->)", re.DOTALL)
COLUMNS = ["insert", "insert-batch", "build", "hit", "miss", "mixed", "batch-hit", "batch-miss", "batch-mixed"]


def read(path):
    """Returns (header lines as (key, rest), rows as dicts)."""
    if not path.exists():
        return [], []
    lines = [line.split("\t") for line in path.read_text().splitlines()]
    header = [(line[0][2:], line[1:]) for line in lines if line[0].startswith("# ")]
    table = [line for line in lines if not line[0].startswith(("#", "MISSING"))]
    return header, [dict(zip(table[0], line)) for line in table[1:]] if table else []


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
    """A table for each workload and class; ns per key."""
    text = ""
    for workload, fpr_class in dict.fromkeys((row["workload"], row["class"]) for row in rows):
        here = [row for row in rows if (row["workload"], row["class"]) == (workload, fpr_class)]
        used = [column for column in COLUMNS if any(row["operation"] == column for row in here)]
        lines = []
        for peer in dict.fromkeys(row["peer"] for row in here):
            own = {row["operation"]: row for row in here if row["peer"] == peer}
            one = next(iter(own.values()))
            fpr = "" if one["side"] == "limit" else f"{float(one['fpr']) * 100:.3g}"
            name = f"**{peer}**" if one["side"] == "ours" else peer
            cells = [f"{float(own[column]['ns_median']):.3g}" if column in own else "" for column in used]
            lines.append([name, f"{float(one['bits_per_key']):.2f}", fpr, *cells])
        text += f"\n`{workload}`, {float(fpr_class) * 100:g}%\n\n" + markdown(["", "bits/key", "fpr %", *used], lines)
    return text


def targets(results):
    rows = [row for caller in ("plain", "native") for row in read(results / f"targets-{caller}.tsv")[1]]
    lines = [[row["workload"], f"{float(row['class']) * 100:g}%", row["caller"], row["target"], row["rival"],
              row["wanted"], row["measured"], row["outcome"]] for row in rows]
    return "### Targets\n\n" + markdown(
        ["workload", "class", "caller", "target", "against", "wanted", "got", ""], lines)


def plain_table(title, path):
    header, rows = read(path)
    notes = "".join(key + "\n\n" for key, _ in header)
    if not rows:
        return f"\n### {title}\n\nMISSING\n"
    return f"\n### {title}\n\n" + notes + markdown(list(rows[0]), [list(row.values()) for row in rows])


def summary(results):
    text = targets(results)
    for caller in ("native", "plain"):
        header, rows = read(results / f"peers-{caller}.tsv")
        if rows:
            text += f"\n### Peers, {caller} caller: ns per key, medians\n\n{provenance(header)}{peers(rows)}"
    text += plain_table("Rates at 2e8 keys", results / "fpr.tsv")
    return text + plain_table("The command", results / "command.tsv")


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
