//! Any bytes are a skill, in an archive or alone, or an error. What is installed stays below its folder.

use peacrab::tools::skills::front_matter;
use peacrab::tools::skills::is_proper_name;
use peacrab::tools::skills::manifest;
use peacrab::tools::skills::package::{Package, check_path};

pub fn run(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    front_matter::parse(&text);
    front_matter::parse_value(&text);
    manifest::read(&text);
    if let Ok(package) = Package::from_bytes(bytes.to_vec(), "https://example.org/a.zip", None) {
        assert!(is_proper_name(&package.name));
        for file in package.files {
            assert_eq!(check_path(&file.path), Ok(()));
        }
    }
}
