"""Runs the Python examples of a page: each ```python block that does not begin with `# not run` runs in one program per page.

Usage: docs_test.py PAGE...
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

failed = 0
for page in map(pathlib.Path, sys.argv[1:]):
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.S | re.M)
    program = "\n".join(block for block in blocks if not block.startswith("# not run"))
    with tempfile.TemporaryDirectory(prefix="mankai-docs-") as folder:
        done = subprocess.run([sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, check=False,
                              env=dict(os.environ))
    print(f"{page.name}: {len(blocks)} blocks, exit code {done.returncode}")
    if done.returncode != 0 or not blocks:
        print(done.stderr)
        failed += 1
sys.exit(failed)
