#!/usr/bin/env python3
"""Makes the packages of a release, in dist/VERSION, from the binaries that `make boards` has built."""

import shutil
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True

import deb
import oci
import tarball
from contents import Contents
from release import ARCHITECTURES, Release


def main():
    release = Release()
    release.check_binaries()
    contents = Contents(release)
    # Beside the result, so that a failure leaves none that looks complete.
    folder = release.folder.with_name(f"{release.version}.new")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as work:
        for architecture in ARCHITECTURES:
            print(f"packages: {architecture.name}", flush=True)
            program = folder / f"peacrab-{release.version}-{architecture.name}"
            program.write_bytes(release.binary(architecture).read_bytes())
            program.chmod(0o755)
            deb.build(release, contents, architecture, Path(work), folder)
            tarball.build(release, contents, architecture, Path(work), folder)
        print("packages: container image", flush=True)
        oci.build(release, contents, Path(work), folder)
    (folder / "install.sh").write_text(contents.installer)
    (folder / "install.sh").chmod(0o755)
    (folder / "release-key.pem").write_text(contents.public_key)
    shutil.rmtree(release.folder, ignore_errors=True)
    folder.rename(release.folder)
    print(f"packages: {release.folder}")


if __name__ == "__main__":
    main()
