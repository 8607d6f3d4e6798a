//! How evenly a capacity was shared, as one number.

/// Jain's index of what each got of what was fair for them: 1 if all got the same share, one nth if
/// one got everything. `None` if nobody got anything.
pub(crate) fn jain(shares: &[f64]) -> Option<f64> {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|share| share * share).sum();
    (squares > 0.0).then(|| sum * sum / (shares.len() as f64 * squares))
}

/// Max-min fair: who wants less than their part by weight gets what they want, the rest share what remains.
pub(crate) fn fair_shares(demands: &[f64], weights: &[u32], capacity: f64) -> Vec<f64> {
    let by_weight = |who: usize| demands[who] / f64::from(weights[who]);
    let mut order: Vec<usize> = (0..demands.len()).collect();
    order.sort_unstable_by(|a, b| by_weight(*a).total_cmp(&by_weight(*b)));
    let (mut shares, mut left) = (vec![0.0; demands.len()], capacity);
    let mut weight_left: f64 = weights.iter().copied().map(f64::from).sum();
    for who in order {
        let weight = f64::from(weights[who]);
        shares[who] = demands[who].min(left * weight / weight_left);
        left -= shares[who];
        weight_left -= weight;
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jains_index_lies_between_one_nth_and_one() {
        testkit::sim::run("jain bounds", 500, |rng| {
            let shares: Vec<f64> = (0..rng.usize(1..20)).map(|_| rng.f64() * 9.0).collect();
            let nth = 1.0 / shares.len() as f64;
            let index = jain(&shares).unwrap();
            assert!((nth - 1e-9..=1.0 + 1e-9).contains(&index), "{index}");
        });
        assert_eq!(jain(&[3.0; 7]), Some(1.0));
        assert_eq!(jain(&[0.0, 5.0, 0.0, 0.0]), Some(0.25));
        assert_eq!(jain(&[0.0; 3]), None);
    }

    #[test]
    fn nobody_gets_more_than_asked_for_and_nothing_is_left_while_somebody_wants() {
        assert_eq!(
            fair_shares(&[50.0, 1.0, 9.0, 40.0], &[1; 4], 30.0),
            [10.0, 1.0, 9.0, 10.0]
        );
        assert_eq!(fair_shares(&[5.0, 6.0], &[1, 1], 30.0), [5.0, 6.0]);
        assert_eq!(fair_shares(&[50.0, 50.0], &[4, 1], 30.0), [24.0, 6.0]);
        assert_eq!(fair_shares(&[10.0, 50.0], &[4, 1], 30.0), [10.0, 20.0]);
        testkit::sim::run("max-min", 200, |rng| {
            let demands: Vec<f64> = (0..rng.usize(1..20)).map(|_| rng.f64() * 9.0).collect();
            let (wanted, capacity) = (demands.iter().sum::<f64>(), rng.f64() * 100.0);
            let weights: Vec<u32> = demands.iter().map(|_| rng.u32(1..5)).collect();
            let shares = fair_shares(&demands, &weights, capacity);
            assert!(demands.iter().zip(&shares).all(|(want, get)| get <= want));
            assert!((shares.iter().sum::<f64>() - wanted.min(capacity)).abs() < 1e-9);
        });
    }
}
