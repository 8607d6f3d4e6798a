//! How a cost grows with a size: the exponent of the power law that fits best.

/// Above this a cost a unit is said to grow; below lie what caches cost and what a shared machine does.
pub(super) const FLAT: f64 = 0.1;

/// The slope of the logarithms by least squares; nothing for fewer than two sizes, or for costs that have none.
pub(super) fn exponent(points: &[(f64, f64)]) -> Option<f64> {
    let logs = || points.iter().map(|(size, cost)| (size.ln(), cost.ln()));
    if points.len() < 2 || logs().any(|(size, cost)| !(size.is_finite() && cost.is_finite())) {
        return None;
    }
    let count = points.len() as f64;
    let (size_mean, cost_mean) = logs().fold((0.0, 0.0), |(sizes, costs), (size, cost)| {
        (sizes + size / count, costs + cost / count)
    });
    let (both, alone) = logs().fold((0.0, 0.0), |(both, alone), (size, cost)| {
        let off = size - size_mean;
        (both + off * (cost - cost_mean), alone + off * off)
    });
    (alone > 0.0).then(|| both / alone)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn law(exponent: f64) -> Vec<(f64, f64)> {
        let sizes = [10.0, 100.0, 1_000.0, 20_000.0];
        sizes
            .map(|size: f64| (size, 3.0 * size.powf(exponent)))
            .into()
    }

    #[test]
    fn the_exponent_of_a_power_law_is_found() {
        for wanted in [-1.0, 0.0, 0.5, 1.0, 2.0] {
            let found = exponent(&law(wanted)).unwrap();
            assert!((found - wanted).abs() < 1e-9, "{found} for {wanted}");
        }
    }

    #[test]
    fn a_search_through_all_is_told_from_a_table() {
        let searched = [10.0, 100.0, 1_000.0, 10_000.0].map(|n| (n, 20.0 + 0.01 * n));
        assert!(exponent(&searched).unwrap() > FLAT);
        let looked_up = [10.0, 100.0, 1_000.0, 10_000.0].map(|n: f64| (n, 20.0 + 0.2 * n.log2()));
        assert!(exponent(&looked_up).unwrap() < FLAT);
    }

    #[test]
    fn what_has_no_slope_has_none() {
        assert_eq!(exponent(&[(10.0, 1.0)]), None);
        assert_eq!(exponent(&[(10.0, 1.0), (10.0, 2.0)]), None);
        assert_eq!(exponent(&[(10.0, 0.0), (20.0, 1.0)]), None);
    }
}
