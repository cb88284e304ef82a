"""Sections, symbols and relocations of an ELF object that is not linked yet (elf(5)): 32 or 64 bits, little endian."""

import struct
from typing import NamedTuple

SHT_PROGBITS, SHT_SYMTAB, SHT_RELA, SHT_REL, SHT_SYMTAB_SHNDX = 1, 2, 4, 9, 18
SHN_XINDEX = 0xFFFF
SHF_MERGE = 0x10
STT_FUNC = 2


class Section(NamedTuple):
    """A row of the table of sections, with its name."""

    name: str
    kind: int
    flags: int
    offset: int
    size: int
    link: int
    info: int


class Symbol(NamedTuple):
    """A symbol: `section` is the number of the section that defines it, and 0 if none does."""

    name: str
    is_function: bool
    value: int
    section: int


class Object:
    """An object file in memory."""

    def __init__(self, data):
        if data[:4] != b"\x7fELF" or data[5] != 1:
            raise ValueError("not a little-endian ELF object")
        self.data = data
        self.is_wide = data[4] == 2
        self.sections = self._sections()

    def content(self, section):
        return self.data[section.offset : section.offset + section.size]

    def _sections(self):
        if self.is_wide:
            (table,) = struct.unpack_from("<Q", self.data, 40)
            size, count, names = struct.unpack_from("<HHH", self.data, 58)
            form = "<IIQQQQIIQQ"
        else:
            (table,) = struct.unpack_from("<I", self.data, 32)
            size, count, names = struct.unpack_from("<HHH", self.data, 46)
            form = "<IIIIIIIIII"
        # Larger numbers than fit are in the first row.
        first = struct.unpack_from(form, self.data, table)
        count, names = count or first[5], first[6] if names == SHN_XINDEX else names
        rows = [struct.unpack_from(form, self.data, table + size * index) for index in range(count)]
        at = rows[names][4]
        return [
            Section(self._string(at + name), kind, flags, offset, bytes_, link, info)
            for name, kind, flags, _, offset, bytes_, link, info, _, _ in rows
        ]

    def _string(self, at):
        return self.data[at : self.data.index(b"\0", at)].decode()

    def symbols(self):
        """All symbols, by their number."""
        table = next(section for section in self.sections if section.kind == SHT_SYMTAB)
        names = self.sections[table.link].offset
        # The numbers of sections that do not fit into a symbol have a table of their own.
        larger = next((section.offset for section in self.sections if section.kind == SHT_SYMTAB_SHNDX), 0)
        form = "<IBBHQQ" if self.is_wide else "<IIIBBH"
        found = []
        for number, row in enumerate(struct.iter_unpack(form, self.content(table))):
            if self.is_wide:
                name, info, _, section, value, _ = row
            else:
                name, value, _, info, _, section = row
            if section == SHN_XINDEX and larger:
                (section,) = struct.unpack_from("<I", self.data, larger + 4 * number)
            section = section if section < len(self.sections) else 0
            found.append(Symbol(self._string(names + name), info & 15 == STT_FUNC, value, section))
        return found

    def references(self):
        """Pairs of a section's number and the number of a symbol that it refers to."""
        for section in self.sections:
            if section.kind not in (SHT_RELA, SHT_REL):
                continue
            if self.is_wide:
                form, shift = "<QQq" if section.kind == SHT_RELA else "<QQ", 32
            else:
                form, shift = "<IIi" if section.kind == SHT_RELA else "<II", 8
            for _, info, *_ in struct.iter_unpack(form, self.content(section)):
                yield section.info, info >> shift
