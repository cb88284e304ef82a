//! Deliveries: the plan with random faults and no thread, and the workers with a channel made up for
//! them.

mod plan;
mod workers;
