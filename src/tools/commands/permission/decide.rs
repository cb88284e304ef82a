//! What to do about a command, by its placement, the patterns and `tools.exec.approval`. PURE.

use super::refusal::Refusal;
use super::risk::Objection;
use crate::base::approval::Cause;
use crate::config::schema::ApprovalMode;

/// What to do about a command.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::tools::commands) enum Decision {
    /// Run it, in the sandbox.
    Run,
    /// Ask a person first.
    Ask(Cause),
    /// Do not run it.
    Refuse(Refusal),
}

/// Where a command is to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tools::commands) enum Placement {
    Sandbox,
    /// Outside, because that was asked for.
    Outside,
    /// Outside, in a person's shell, which the configuration puts there.
    OwnShell,
}

/// Decides about a command.
pub(in crate::tools::commands) fn decide(
    objection: Option<Objection>,
    mode: ApprovalMode,
    place: Placement,
) -> Decision {
    let unsandboxed = place == Placement::Outside;
    let asks_about_risk = matches!(mode, ApprovalMode::Risky | ApprovalMode::Always);
    match objection {
        Some(objection) if objection.is_configured() => Decision::Refuse(Refusal::Objection {
            objection,
            can_be_asked: false,
        }),
        Some(Objection::Risk(risk))
            if place == Placement::OwnShell && mode != ApprovalMode::Never =>
        {
            Decision::Ask(Cause::Risk(risk))
        }
        Some(objection) if !unsandboxed && !asks_about_risk => {
            Decision::Refuse(Refusal::Objection {
                objection,
                can_be_asked: mode != ApprovalMode::Never,
            })
        }
        _ if unsandboxed && mode == ApprovalMode::Never => Decision::Refuse(Refusal::Never),
        Some(Objection::Risk(risk)) => Decision::Ask(Cause::Risk(risk)),
        _ if unsandboxed => Decision::Ask(Cause::Unsandboxed),
        _ if mode == ApprovalMode::Always => Decision::Ask(Cause::Configured),
        _ => Decision::Run,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::approval::Risk;

    /// Each mode with a harmless, a risky and a forbidden command, and each of them outside the sandbox.
    #[test]
    fn each_mode_decides() {
        let risky = Objection::Risk(Risk::Power);
        let forbidden = Objection::DenyPattern("x".to_owned());
        let table = [
            (
                ApprovalMode::Never,
                [
                    ["run", "refuse", "refuse"],
                    ["refuse"; 3],
                    ["run", "refuse", "refuse"],
                ],
            ),
            (
                ApprovalMode::Escalation,
                [
                    ["run", "refuse", "refuse"],
                    ["ask", "ask", "refuse"],
                    ["run", "ask", "refuse"],
                ],
            ),
            (
                ApprovalMode::Risky,
                [
                    ["run", "ask", "refuse"],
                    ["ask", "ask", "refuse"],
                    ["run", "ask", "refuse"],
                ],
            ),
            (ApprovalMode::Always, [["ask", "ask", "refuse"]; 3]),
        ];
        for (mode, expected) in table {
            let objections = [None, Some(&risky), Some(&forbidden)];
            let places = [Placement::Sandbox, Placement::Outside, Placement::OwnShell];
            let cases = places.map(|place| objections.map(|objection| (objection, place)));
            let decided = cases.as_flattened().iter().map(|(objection, place)| {
                match decide(objection.cloned(), mode, *place) {
                    Decision::Run => "run",
                    Decision::Ask(_) => "ask",
                    Decision::Refuse(_) => "refuse",
                }
            });
            let decided: Vec<_> = decided.collect();
            assert_eq!(decided, expected.as_flattened(), "{mode:?}");
        }
    }
}
