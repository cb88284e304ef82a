#!/usr/bin/env python3
"""Makes the packages of a release from the binaries that `make boards` has built: README.md lists them.

    python3 scripts/packages [--boards DIR] [--version VERSION] [--only ARCH] FOLDER
"""

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True

import deb
import oci
import tarball
from contents import Contents
from release import ARCHITECTURES, TOP, Release


def main():
    parser = argparse.ArgumentParser(prog="scripts/packages", description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path, help="where to put the packages; what is in it is deleted")
    parser.add_argument("--boards", type=Path, default=TOP / "dist/boards", help="folder with the binaries")
    parser.add_argument("--version", help="another version than that of Cargo.toml")
    parser.add_argument("--only", choices=[architecture.name for architecture in ARCHITECTURES], metavar="ARCH",
                        help="make only the .deb of this architecture")
    arguments = parser.parse_args()
    release = Release(arguments.boards.absolute(), arguments.version)
    folder = arguments.folder.absolute()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    contents = Contents(release)
    with tempfile.TemporaryDirectory() as work:
        if arguments.only:
            chosen = next(item for item in ARCHITECTURES if item.name == arguments.only)
            deb.build(release, contents, chosen, Path(work), folder)
        else:
            build_all(release, contents, Path(work), folder)


def build_all(release, contents, work, folder):
    release.check_binaries()
    for architecture in ARCHITECTURES:
        program = folder / f"peacrab-{release.version}-{architecture.name}"
        program.write_bytes(release.binary(architecture).read_bytes())
        program.chmod(0o755)
        deb.build(release, contents, architecture, work, folder)
        tarball.build(release, contents, architecture, work, folder)
    oci.build(release, contents, work, folder)
    (folder / "install.sh").write_text(contents.installer)
    (folder / "install.sh").chmod(0o755)
    (folder / "release-key.pem").write_text(contents.public_key)


if __name__ == "__main__":
    sys.exit(main())
