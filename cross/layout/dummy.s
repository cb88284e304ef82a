# A channel that nobody configures, for x86_64: 96 kB of code and 1 kB of constants that point into it.
# `make footprint` measures what of it an idle gateway has in memory (scripts/footprint/layout.py).
    .section .text.dummy,"axR",@progbits
    .type dummy, @function
dummy:
    .skip 98304, 0xcc
    .size dummy, 98304
    .section .data.rel.ro.dummy,"awR",@progbits
    .rept 128
    .quad dummy
    .endr
