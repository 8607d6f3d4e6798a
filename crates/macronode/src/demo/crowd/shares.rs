//! What is due to whom: each its share by weight, and what one does not ask for goes to the others.

/// The part due to each of these (what it asks for, its weight) of `capacity`.
pub(super) fn due(demands: &[(f64, u32)], capacity: f64) -> Vec<f64> {
    let mut due = vec![0.0; demands.len()];
    let mut left = capacity;
    let mut open: Vec<usize> = (0..demands.len()).collect();
    while !open.is_empty() {
        let weights: f64 = open.iter().map(|index| f64::from(demands[*index].1)).sum();
        let share = |index: usize| left * f64::from(demands[index].1) / weights;
        let content = |index: &usize| demands[*index].0 <= share(*index);
        let (modest, greedy): (Vec<_>, Vec<_>) = open.iter().copied().partition(content);
        if modest.is_empty() {
            for index in greedy {
                due[index] = share(index);
            }
            break;
        }
        for index in modest {
            due[index] = demands[index].0;
            left -= demands[index].0;
        }
        open = greedy;
    }
    due
}

#[cfg(test)]
mod tests {
    use super::*;

    // req: FQ-09
    #[test]
    fn what_one_does_not_ask_for_goes_to_the_others_by_weight() {
        assert_eq!(
            due(&[(60.0, 3), (10.0, 1), (240.0, 1)], 80.0),
            [52.5, 10.0, 17.5]
        );
        assert_eq!(due(&[(5.0, 1), (5.0, 1)], 80.0), [5.0, 5.0]);
        assert_eq!(due(&[(90.0, 1), (90.0, 3)], 80.0), [20.0, 60.0]);
        assert_eq!(due(&[], 80.0), [0.0; 0]);
        assert_eq!(due(&[(1.0, 1)], 0.0), [0.0]);
    }
}
