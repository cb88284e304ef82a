//! PURE: values over time as curves, with round ticks and a legend.
