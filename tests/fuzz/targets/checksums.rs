//! Any bytes are a list of checksums or an error. A program in a list has a name that is no path, and its
//! version is written as it was read.

use peacrab::update::ARCHITECTURES;
use peacrab::update::list::{Checksums, read_name};

pub fn run(bytes: &[u8]) {
    let Ok(list) = Checksums::parse(bytes) else {
        return;
    };
    for program in list.programs() {
        let name = format!("peacrab-{}-{}", program.version, program.architecture);
        assert_eq!(program.name, name);
        assert!(!name.contains('/'));
        assert_eq!(
            read_name(&name),
            Some((program.version, program.architecture))
        );
    }
    for architecture in ARCHITECTURES {
        if let Ok(program) = list.program(architecture) {
            assert_eq!(program.architecture, architecture);
        }
    }
}
