"""Folders as they are in a package: the same bytes from the same release, whatever machine makes them."""

import gzip
import io
import os
import shutil
import tarfile


class Tree:
    """A folder that is filled file by file. Modes are given, not left to the umask."""

    def __init__(self, folder):
        shutil.rmtree(folder, ignore_errors=True)
        self.folder = folder
        self.add_folder(".")

    def add(self, path, content, mode=0o644):
        """Adds a file. `content` is text, bytes, or the file to copy."""
        file = self.folder / path
        self.add_folder(os.path.dirname(path) or ".")
        if hasattr(content, "read_bytes"):
            content = content.read_bytes()
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
        file.chmod(mode)

    def add_folder(self, path, mode=0o755):
        """Adds a folder, and those above it."""
        parent = os.path.dirname(path)
        if parent and not (self.folder / parent).is_dir():
            self.add_folder(parent)
        folder = self.folder / path
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(mode)

    def tar(self, epoch, owners=None, prefix=""):
        """Its content as a tar file. It belongs to root, except what `owners` gives a user and group id."""
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
            for file in sorted(self.folder.rglob("*")):
                path = str(file.relative_to(self.folder))
                info = archive.gettarinfo(file, prefix + path)
                info.uid = info.gid = (owners or {}).get(path, 0)
                info.uname = info.gname = ""
                info.mtime = epoch
                with io.BytesIO(file.read_bytes() if file.is_file() else b"") as content:
                    archive.addfile(info, content)
        return buffer.getvalue()


def compress(content):
    """gzip without a time and a name."""
    return gzip.compress(content, compresslevel=9, mtime=0)
