//! The program. Everything else is in the library.

fn main() -> std::process::ExitCode {
    peacrab::cli::main()
}
