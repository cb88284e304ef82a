# A channel that nobody configures, for x86_64: 96 kB of code and 4 kB of constants that point into it.
# `make footprint` measures that a gateway with it needs no more memory (scripts/footprint/layout.py).
    .section .text.dummy,"axR",@progbits
dummy:
    .skip 98304, 0xcc
    .section .data.rel.ro.dummy,"awR",@progbits
    .rept 512
    .quad dummy
    .endr
