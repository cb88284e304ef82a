//! Whether a command may run, has to be asked about, or is refused. Pure.

use super::risk::Objection;
use crate::config::schema::ApprovalMode;

/// What is to be done about a command.
#[derive(Debug, PartialEq, Eq)]
pub enum Decision {
    /// Run it within the isolation.
    Run,
    /// Ask a person, because of this rule.
    Ask {
        /// The rule.
        rule: String,
    },
    /// Do not run it.
    Refuse {
        /// The rule.
        rule: String,
        /// What was refused, and which rule did it.
        why: String,
        /// Whether a person can be asked to allow it all the same.
        can_be_asked: bool,
    },
}

/// Decides. `lifted` is whether the command wants to run outside the sandbox.
pub fn decide(objection: Option<&Objection>, mode: ApprovalMode, lifted: bool) -> Decision {
    let refuse = |rule: &str, why: String| Decision::Refuse {
        rule: rule.to_owned(),
        why,
        can_be_asked: false,
    };
    match objection {
        // The owner has said no in writing: nobody is asked.
        Some(objection) if objection.is_configured() => {
            let why = format!(
                "{} ({}). Only a change of the configuration would allow it",
                objection.reason, objection.rule
            );
            return refuse(&objection.rule, why);
        }
        Some(objection)
            if !lifted && !matches!(mode, ApprovalMode::Risky | ApprovalMode::Always) =>
        {
            return Decision::Refuse {
                rule: objection.rule.clone(),
                why: format!("{} (built-in pattern {})", objection.reason, objection.rule),
                can_be_asked: mode != ApprovalMode::Never,
            };
        }
        _ => {}
    }
    let risk =
        objection.map(|objection| format!("risky, {}: {}", objection.rule, objection.reason));
    if lifted && mode == ApprovalMode::Never {
        let why =
            "tools.exec.approval is \"never\", so no command runs outside the sandbox".to_owned();
        return refuse("tools.exec.approval", why);
    }
    match (lifted, risk, mode) {
        (true, Some(risk), _) => Decision::Ask {
            rule: format!("it wants to run outside the sandbox, and it is {risk}"),
        },
        (true, None, _) => Decision::Ask {
            rule: "it wants to run outside the sandbox".to_owned(),
        },
        (false, Some(risk), _) => Decision::Ask { rule: risk },
        (false, None, ApprovalMode::Always) => Decision::Ask {
            rule: "tools.exec.approval is \"always\"".to_owned(),
        },
        (false, None, _) => Decision::Run,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What each mode does with a plain command, a risky one, one that the configuration forbids, and
    /// each of them outside the sandbox.
    #[test]
    fn each_mode_decides() {
        let objection = |rule: &str| Objection {
            rule: rule.to_owned(),
            reason: "because".to_owned(),
        };
        let risky = objection("format");
        let forbidden = objection("tools.exec.denyPatterns: x");
        let table = [
            (
                ApprovalMode::Never,
                ["run", "refuse", "refuse", "refuse", "refuse", "refuse"],
            ),
            (
                ApprovalMode::Escalation,
                ["run", "refuse", "refuse", "ask", "ask", "refuse"],
            ),
            (
                ApprovalMode::Risky,
                ["run", "ask", "refuse", "ask", "ask", "refuse"],
            ),
            (
                ApprovalMode::Always,
                ["ask", "ask", "refuse", "ask", "ask", "refuse"],
            ),
        ];
        for (mode, expected) in table {
            let cases = [
                (None, false),
                (Some(&risky), false),
                (Some(&forbidden), false),
                (None, true),
                (Some(&risky), true),
                (Some(&forbidden), true),
            ];
            let decided = cases.map(
                |(objection, lifted)| match decide(objection, mode, lifted) {
                    Decision::Run => "run",
                    Decision::Ask { .. } => "ask",
                    Decision::Refuse { .. } => "refuse",
                },
            );
            assert_eq!(decided, expected, "{mode:?}");
        }
    }
}
