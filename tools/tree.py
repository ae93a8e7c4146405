"""The files of the project as the checks see them: what git tracks or would track, never build output."""
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent


def files(root):
    """Returns the paths of the tree below `root`, relative to it and sorted; works without git as well."""
    root = pathlib.Path(root)
    listed = subprocess.run(["git", "-C", str(root), "ls-files", "--cached", "--others", "--exclude-standard", "."],
                            capture_output=True, text=True, check=False)
    if listed.returncode == 0:
        paths = [path for path in listed.stdout.split("\n") if path]
    else:
        paths = [str(p.relative_to(root)) for p in root.rglob("*") if p.relative_to(root).parts[0] not in ("build", ".git")]
    return sorted(path for path in paths if (root / path).is_file())


def text(root, path):
    """Returns the text of a file, or None for one that is not text."""
    try:
        return (pathlib.Path(root) / path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return None
