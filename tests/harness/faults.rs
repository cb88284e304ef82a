//! The faults that a test has planned for a fake server.

/// Faults `F` for calls `C`. Those of a place `P` can be removed alone.
pub struct Faults<C, F, P = ()>(Vec<Rule<C, F, P>>);

struct Rule<C, F, P> {
    matches: Box<dyn Fn(&C) -> bool + Send>,
    place: Option<P>,
    times: usize,
    is_met: bool,
    fault: F,
}

impl<C, F, P> Default for Faults<C, F, P> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<C, F: Clone, P: PartialEq> Faults<C, F, P> {
    /// Makes this many calls fail.
    pub fn add(&mut self, times: usize, fault: F, matches: impl Fn(&C) -> bool + Send + 'static) {
        self.push(None, times, fault, matches);
    }

    /// Makes this many calls fail, until the place is healed.
    pub fn add_in(
        &mut self,
        place: P,
        times: usize,
        fault: F,
        matches: impl Fn(&C) -> bool + Send + 'static,
    ) {
        self.push(Some(place), times, fault, matches);
    }

    fn push(
        &mut self,
        place: Option<P>,
        times: usize,
        fault: F,
        matches: impl Fn(&C) -> bool + Send + 'static,
    ) {
        self.0.push(Rule {
            matches: Box::new(matches),
            place,
            times,
            is_met: false,
            fault,
        });
    }

    /// The fault for a call.
    pub fn meet(&mut self, call: &C) -> Option<F> {
        let holds = |rule: &&mut Rule<C, F, P>| rule.times > 0 && (rule.matches)(call);
        let rule = self.0.iter_mut().find(holds)?;
        rule.times -= 1;
        rule.is_met = true;
        Some(rule.fault.clone())
    }

    /// Removes all faults.
    pub fn heal(&mut self) {
        self.0.iter_mut().for_each(|rule| rule.times = 0);
    }

    /// Removes the faults of a place.
    pub fn heal_in(&mut self, place: P) {
        let place = Some(place);
        let rules = self.0.iter_mut().filter(|rule| rule.place == place);
        rules.for_each(|rule| rule.times = 0);
    }

    /// The faults that no call ran into: the test does not show what it claims.
    pub fn unmet(&self) -> impl Iterator<Item = &F> {
        let unmet = self.0.iter().filter(|rule| !rule.is_met);
        unmet.map(|rule| &rule.fault)
    }
}
