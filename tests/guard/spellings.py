"""The spellings of tests/guard/spellings.json: one table for every program that answers whether a URL is blocked."""
import json
import pathlib

_TABLE = json.loads((pathlib.Path(__file__).parent / "spellings.json").read_text())
RULES = _TABLE["rules"]
COVERED = _TABLE["covered"]  # the rules as verdicts name them
EXCEPTIONS = _TABLE["exceptions"]
BLOCKED = _TABLE["blocked"] + [each["before"] + each["text"] * each["times"] + each["after"] for each in _TABLE["repeated"]]
INVALID = _TABLE["invalid"]
OK = _TABLE["ok"]
