//! Fits linear models by least squares. Crossed factors of an experiment are estimated with it.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// A fitted linear model.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// One for each column.
    pub coefficients: Vec<f64>,
    /// Their standard errors.
    pub errors: Vec<f64>,
    /// The number of values minus the number of columns.
    pub degrees_of_freedom: usize,
}

impl Fit {
    /// Returns the two-sided p-value of the hypothesis that a coefficient is zero, by Student's t
    /// distribution.
    pub fn p(&self, column: usize) -> f64 {
        let t = StudentsT::new(0.0, 1.0, self.degrees_of_freedom as f64)
            .expect("a fit has degrees of freedom");
        let ratio = (self.coefficients[column] / self.errors[column]).abs();
        if ratio.is_nan() { 1.0 } else { 2.0 * t.sf(ratio) }
    }
}

/// The smallest part of a column that the columns before it must leave unexplained.
const SINGULAR: f64 = 1e-9;

/// Fits `values ≈ rows · coefficients`, with errors of equal variance.
///
/// Solves the normal equations with a Cholesky decomposition (Golub and Van Loan, Matrix
/// Computations, 2013, algorithm 4.2.1). The standard errors follow Seber and Lee, Linear
/// Regression Analysis, 2003, section 3.1.
///
/// Returns `None` if there are no more values than columns, rows differ in length, or a column is a
/// combination of others.
pub fn least_squares(rows: &[Vec<f64>], values: &[f64]) -> Option<Fit> {
    let columns = rows.first()?.len();
    if rows.len() != values.len()
        || rows.len() <= columns
        || rows.iter().any(|row| row.len() != columns)
    {
        return None;
    }
    let product = |a: usize, b: usize| rows.iter().map(|row| row[a] * row[b]).sum::<f64>();
    // The lower triangle of L in XᵀX = L·Lᵀ.
    let mut lower = vec![vec![0.0; columns]; columns];
    for column in 0..columns {
        for row in column..columns {
            let known: f64 = (0..column).map(|k| lower[row][k] * lower[column][k]).sum();
            let rest = product(row, column) - known;
            lower[row][column] = if row == column {
                if rest <= SINGULAR * product(row, row) {
                    return None;
                }
                rest.sqrt()
            } else {
                rest / lower[column][column]
            };
        }
    }
    let solve = |right: &[f64]| {
        let mut x = right.to_vec();
        for i in 0..columns {
            x[i] = (x[i] - (0..i).map(|k| lower[i][k] * x[k]).sum::<f64>()) / lower[i][i];
        }
        for i in (0..columns).rev() {
            x[i] = (x[i] - (i + 1..columns).map(|k| lower[k][i] * x[k]).sum::<f64>()) / lower[i][i];
        }
        x
    };
    let right: Vec<f64> = (0..columns)
        .map(|c| rows.iter().zip(values).map(|(row, value)| row[c] * value).sum())
        .collect();
    let coefficients = solve(&right);
    let fitted = |row: &[f64]| row.iter().zip(&coefficients).map(|(x, b)| x * b).sum::<f64>();
    let degrees_of_freedom = rows.len() - columns;
    let variance =
        rows.iter().zip(values).map(|(row, value)| (value - fitted(row)).powi(2)).sum::<f64>()
            / degrees_of_freedom as f64;
    let unit = |at: usize| (0..columns).map(|c| f64::from(c == at)).collect::<Vec<_>>();
    let errors = (0..columns).map(|c| (variance * solve(&unit(c))[c]).sqrt()).collect();
    Some(Fit { coefficients, errors, degrees_of_freedom })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64, within: f64) {
        assert!((a - b).abs() <= within, "{a} is not {b}");
    }

    #[test]
    fn longley_data_match_certified_values() {
        // NIST Statistical Reference Datasets, Longley. The predictors are nearly linear
        // combinations of each other.
        let data = [
            [60323.0, 83.0, 234289.0, 2356.0, 1590.0, 107608.0, 1947.0],
            [61122.0, 88.5, 259426.0, 2325.0, 1456.0, 108632.0, 1948.0],
            [60171.0, 88.2, 258054.0, 3682.0, 1616.0, 109773.0, 1949.0],
            [61187.0, 89.5, 284599.0, 3351.0, 1650.0, 110929.0, 1950.0],
            [63221.0, 96.2, 328975.0, 2099.0, 3099.0, 112075.0, 1951.0],
            [63639.0, 98.1, 346999.0, 1932.0, 3594.0, 113270.0, 1952.0],
            [64989.0, 99.0, 365385.0, 1870.0, 3547.0, 115094.0, 1953.0],
            [63761.0, 100.0, 363112.0, 3578.0, 3350.0, 116219.0, 1954.0],
            [66019.0, 101.2, 397469.0, 2904.0, 3048.0, 117388.0, 1955.0],
            [67857.0, 104.6, 419180.0, 2822.0, 2857.0, 118734.0, 1956.0],
            [68169.0, 108.4, 442769.0, 2936.0, 2798.0, 120445.0, 1957.0],
            [66513.0, 110.8, 444546.0, 4681.0, 2637.0, 121950.0, 1958.0],
            [68655.0, 112.6, 482704.0, 3813.0, 2552.0, 123366.0, 1959.0],
            [69564.0, 114.2, 502601.0, 3931.0, 2514.0, 125368.0, 1960.0],
            [69331.0, 115.7, 518173.0, 4806.0, 2572.0, 127852.0, 1961.0],
            [70551.0, 116.9, 554894.0, 4007.0, 2827.0, 130081.0, 1962.0],
        ];
        // Centred, because normal equations need that for such columns. Slopes do not change.
        let mean = |column: usize| data.iter().map(|row| row[column]).sum::<f64>() / 16.0;
        let rows: Vec<Vec<f64>> = data
            .iter()
            .map(|row| std::iter::once(1.0).chain((1..7).map(|c| row[c] - mean(c))).collect())
            .collect();
        let fit = least_squares(&rows, &data.map(|row| row[0])).unwrap();
        assert_eq!(fit.degrees_of_freedom, 9);
        close(fit.coefficients[1], 15.061_872_271_373, 1e-6);
        close(fit.coefficients[3], -2.020_229_803_816_83, 1e-8);
        close(fit.coefficients[6], 1_829.151_464_613_55, 1e-5);
        close(fit.errors[1], 84.914_925_774_741_9, 1e-6);
        close(fit.errors[6], 455.478_499_142_212, 1e-5);
        close(fit.p(6), 0.003_037, 1e-5);
    }

    #[test]
    fn factorial_pilot_plant_matches_published_effects() {
        // Box, Hunter and Hunter, Statistics for Experimenters, 2005, table 5.4: 2³ runs, twice
        // each. The factors are temperature, concentration and catalyst.
        let yields = [
            [59.0, 61.0],
            [74.0, 70.0],
            [50.0, 58.0],
            [69.0, 67.0],
            [50.0, 54.0],
            [81.0, 85.0],
            [46.0, 44.0],
            [79.0, 81.0],
        ];
        let (mut rows, mut values) = (Vec::new(), Vec::new());
        for (run, pair) in yields.iter().enumerate() {
            let sign = |factor: usize| if run >> factor & 1 == 1 { 1.0 } else { -1.0 };
            let [t, c, k] = [sign(0), sign(1), sign(2)];
            for value in pair {
                rows.push([2.0, t, c, k, t * c, t * k, c * k, t * c * k].map(|x| x / 2.0).to_vec());
                values.push(*value);
            }
        }
        let fit = least_squares(&rows, &values).unwrap();
        let published = [64.25, 23.0, -5.0, 1.5, 1.5, 10.0, 0.0, 0.5];
        for (found, value) in fit.coefficients.iter().zip(published) {
            close(*found, value, 1e-9);
        }
        // Standard error of an effect: 1.4.
        close(fit.errors[1], std::f64::consts::SQRT_2, 0.01);
        assert!(fit.p(1) < 1e-6 && fit.p(6) > 0.99);
    }

    #[test]
    fn dependent_columns_give_none() {
        let twice: Vec<Vec<f64>> =
            (0..5).map(|i| vec![1.0, f64::from(i), 2.0 * f64::from(i)]).collect();
        assert_eq!(least_squares(&twice, &[1.0, 2.0, 3.0, 4.0, 5.0]), None);
        assert_eq!(least_squares(&[vec![1.0], vec![1.0, 2.0]], &[1.0, 2.0]), None);
        assert_eq!(least_squares(&[vec![1.0, 2.0], vec![1.0, 3.0]], &[1.0, 2.0]), None);
        assert_eq!(least_squares(&[], &[]), None);
    }
}
