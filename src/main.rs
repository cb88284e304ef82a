//! The program. Everything else is in the library.

#[global_allocator]
static BLOCKS: peacrab::sys::process::blocks::Blocks = peacrab::sys::process::blocks::Blocks;

fn main() -> std::process::ExitCode {
    peacrab::cli::main()
}
