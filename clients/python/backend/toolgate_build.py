"""The build back end of this package (PEP 517): makes the wheel and the source distribution.

In the tree, and on the standard library alone, so that the package builds anywhere, also without a network. It knows
this package only: pure Python, one folder, no dependencies. What it says of the package stands in pyproject.toml.
"""

import base64
import gzip
import hashlib
import io
import tarfile
import zipfile
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional, Tuple

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.9 and 3.10; pyproject.toml asks for it there
    import tomli as tomllib  # type: ignore

ROOT = Path(__file__).resolve().parent.parent
# The earliest time a zip can hold: the same sources make the same bytes.
ZIP_TIME = (1980, 1, 1, 0, 0, 0)
TAR_TIME = 315532800

Settings = Optional[Dict[str, Any]]


def build_wheel(wheel_directory: str, config_settings: Settings = None, metadata_directory: Optional[str] = None) -> str:
    project = _project()
    info = f"{_stem(project)}.dist-info"
    files = [(path.relative_to(ROOT).as_posix(), path.read_bytes()) for path in _modules()]
    files += [
        (f"{info}/METADATA", _metadata(project).encode()),
        (f"{info}/WHEEL", b"Wheel-Version: 1.0\nGenerator: toolgate_build\nRoot-Is-Purelib: true\nTag: py3-none-any\n"),
        (f"{info}/licenses/LICENSE", (ROOT / "LICENSE").read_bytes()),
    ]
    record = [f"{name},{_digest(content)},{len(content)}" for name, content in files] + [f"{info}/RECORD,,"]
    files.append((f"{info}/RECORD", ("\n".join(record) + "\n").encode()))
    name = f"{_stem(project)}-py3-none-any.whl"
    with zipfile.ZipFile(Path(wheel_directory) / name, "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, content in files:
            entry = zipfile.ZipInfo(path, ZIP_TIME)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            wheel.writestr(entry, content)
    return name


def build_sdist(sdist_directory: str, config_settings: Settings = None) -> str:
    project = _project()
    stem = _stem(project)
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path, content in [*_sources(), ("PKG-INFO", _metadata(project).encode())]:
            entry = tarfile.TarInfo(f"{stem}/{path}")
            entry.size, entry.mtime, entry.mode = len(content), TAR_TIME, 0o644
            archive.addfile(entry, io.BytesIO(content))
    name = f"{stem}.tar.gz"
    (Path(sdist_directory) / name).write_bytes(gzip.compress(packed.getvalue(), mtime=0))
    return name


def _project() -> Dict[str, Any]:
    with open(ROOT / "pyproject.toml", "rb") as file:
        project: Dict[str, Any] = tomllib.load(file)["project"]
    return project


def _stem(project: Dict[str, Any]) -> str:
    # File names spell a dash in the name as an underscore, so that the first dash ends it.
    return f"{project['name'].replace('-', '_')}-{project['version']}"


def _modules() -> List[Path]:
    package = ROOT / "toolgate"
    return sorted([*package.glob("**/*.py"), package / "py.typed"])


def _sources() -> Iterator[Tuple[str, bytes]]:
    own = [ROOT / name for name in ("LICENSE", "README.md", "pyproject.toml")]
    for path in [*own, *sorted((ROOT / "backend").glob("*.py")), *_modules(), *sorted((ROOT / "tests").glob("**/*.py"))]:
        yield path.relative_to(ROOT).as_posix(), path.read_bytes()


def _metadata(project: Dict[str, Any]) -> str:
    lines = [
        "Metadata-Version: 2.4",
        f"Name: {project['name']}",
        f"Version: {project['version']}",
        f"Summary: {project['description']}",
        f"License-Expression: {project['license']}",
        "License-File: LICENSE",
        f"Keywords: {','.join(project['keywords'])}",
        *(f"Classifier: {each}" for each in project["classifiers"]),
        f"Requires-Python: {project['requires-python']}",
        "Description-Content-Type: text/markdown",
        "",
        (ROOT / project["readme"]).read_text(encoding="utf-8"),
    ]
    return "\n".join(lines)


def _digest(content: bytes) -> str:
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
