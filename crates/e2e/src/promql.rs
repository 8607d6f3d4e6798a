//! As much of PromQL as the dashboard and the alert rules use: what an expression asks for, or why it is none.

/// What is asked of one metric.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selector {
    /// The name.
    pub metric: String,
    /// Label, operator and value of each condition.
    pub conditions: Vec<(String, String, String)>,
}

/// What an expression asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// Its metrics.
    pub selectors: Vec<Selector>,
    /// The labels it sums by.
    pub by: Vec<String>,
}

const FUNCTIONS: [&str; 5] = ["sum", "rate", "increase", "absent", "histogram_quantile"];

/// Reads an expression.
///
/// # Errors
/// What in it is not understood.
pub fn read(expression: &str) -> Result<Asked, String> {
    let mut reader = Reader {
        rest: expression.trim_start(),
        asked: Asked::default(),
    };
    reader.whole()?;
    match reader.rest {
        "" => Ok(reader.asked),
        rest => Err(format!("`{rest}` is left over")),
    }
}

struct Reader<'a> {
    rest: &'a str,
    asked: Asked,
}

impl<'a> Reader<'a> {
    /// Values with operators between them.
    fn whole(&mut self) -> Result<(), String> {
        loop {
            self.value()?;
            let operators = ["==", "!=", ">=", "<=", ">", "<", "+", "-", "*", "/"];
            if !operators.iter().any(|operator| self.take(operator)) {
                return Ok(());
            }
        }
    }

    fn value(&mut self) -> Result<(), String> {
        if self.rest.starts_with(|first: char| first.is_ascii_digit()) {
            let number = self.word();
            return number
                .parse::<f64>()
                .map(drop)
                .map_err(|error| format!("{number}: {error}"));
        }
        if self.take("(") {
            self.whole()?;
            return self.expect(")");
        }
        let name = self.word();
        match name {
            "" => Err(format!("nothing is at `{}`", self.rest)),
            function if FUNCTIONS.contains(&function) => self.call(),
            metric => self.selector(metric),
        }
    }

    fn call(&mut self) -> Result<(), String> {
        if self.take("by") {
            self.expect("(")?;
            while !self.take(")") {
                let label = self.word();
                if label.is_empty() {
                    return Err(format!("no label at `{}`", self.rest));
                }
                self.asked.by.push(label.to_owned());
                let _more = self.take(",");
            }
        }
        self.expect("(")?;
        loop {
            self.whole()?;
            if !self.take(",") {
                return self.expect(")");
            }
        }
    }

    fn selector(&mut self, metric: &str) -> Result<(), String> {
        let mut conditions = Vec::new();
        if self.take("{") {
            while !self.take("}") {
                let label = self.word().to_owned();
                let operators = ["=~", "!~", "!=", "="];
                let operator = operators.into_iter().find(|operator| self.take(operator));
                let operator = operator.ok_or_else(|| format!("no operator at `{}`", self.rest))?;
                self.expect("\"")?;
                let (value, rest) = self.rest.split_once('"').ok_or("an open quote")?;
                conditions.push((label, operator.to_owned(), value.to_owned()));
                self.rest = rest.trim_start();
                let _more = self.take(",");
            }
        }
        if self.take("[") {
            let time = self.word();
            let known = time == "$__rate_interval"
                || time
                    .trim_end_matches(['s', 'm', 'h'])
                    .parse::<u32>()
                    .is_ok();
            if !known {
                return Err(format!("`{time}` is no time"));
            }
            self.expect("]")?;
        }
        self.asked.selectors.push(Selector {
            metric: metric.to_owned(),
            conditions,
        });
        Ok(())
    }

    fn word(&mut self) -> &'a str {
        let is_part =
            |part: char| part.is_ascii_alphanumeric() || matches!(part, '_' | '.' | '$' | ':');
        let end = self
            .rest
            .find(|part| !is_part(part))
            .unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest.trim_start();
        word
    }

    fn take(&mut self, text: &str) -> bool {
        let Some(rest) = self.rest.strip_prefix(text) else {
            return false;
        };
        self.rest = rest.trim_start();
        true
    }

    fn expect(&mut self, text: &str) -> Result<(), String> {
        match self.take(text) {
            true => Ok(()),
            false => Err(format!("no `{text}` at `{}`", self.rest)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_conditions_and_labels_are_found() {
        let text =
            "sum by (instance, le) (rate(a_bucket{x=~\"b|c\", y=\"d\"}[5m])) > 0.5 * absent(e)";
        let asked = read(text).unwrap();
        assert_eq!(asked.by, ["instance", "le"]);
        let names: Vec<_> = asked.selectors.iter().map(|one| &*one.metric).collect();
        assert_eq!(names, ["a_bucket", "e"]);
        assert_eq!(asked.selectors[0].conditions.len(), 2);
        assert_eq!(asked.selectors[0].conditions[0].2, "b|c");
    }

    #[test]
    fn what_is_no_expression_is_told() {
        for bad in [
            "",
            "sum(",
            "rate(a[5x])",
            "a{x}",
            "a{x=\"}",
            "a == ",
            "a b",
            "sum(a))",
            "sum by (x (a)",
        ] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
