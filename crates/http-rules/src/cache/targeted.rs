//! Headers that speak to one kind of cache (RFC 9213): dictionaries of structured fields (RFC 9651), void as a whole
//! when a single byte is wrong.

use super::Rules;
use super::control::{Control, Fields, SECONDS_MAX};
use http::header::{HeaderMap, HeaderName};

/// What the closest valid header that is meant for this cache says.
pub(super) fn control(headers: &HeaderMap, rules: &Rules) -> Option<Control> {
    rules.targets.iter().find_map(|name| read(headers, name))
}

fn read(headers: &HeaderMap, name: &HeaderName) -> Option<Control> {
    let lines: Vec<&[u8]> = headers
        .get_all(name)
        .iter()
        .map(|line| line.as_bytes())
        .collect();
    let whole = lines.join(&b", "[..]);
    let mut parser = Parser { rest: &whole };
    let mut control = Control::default();
    parser.blanks(b" ");
    if parser.rest.is_empty() {
        return None;
    }
    loop {
        let (key, value) = parser.member()?;
        take(&mut control, key, value)?;
        parser.blanks(b" \t");
        if parser.rest.is_empty() {
            return Some(control);
        }
        parser.byte(b',')?;
        parser.blanks(b" \t");
        if parser.rest.is_empty() {
            return None;
        }
    }
}

/// The last of equal keys counts. A value of the wrong type makes the header void.
fn take(control: &mut Control, key: &[u8], value: Value<'_>) -> Option<()> {
    match key {
        b"max-age" => control.max_age = Some(value.seconds()?),
        b"s-maxage" => control.s_maxage = Some(value.seconds()?),
        b"stale-while-revalidate" => control.stale_while_revalidate = Some(value.seconds()?),
        b"stale-if-error" => control.stale_if_error = Some(value.seconds()?),
        b"no-cache" => control.no_cache = value.fields()?,
        b"private" => control.private = value.fields()?,
        b"no-store" => control.no_store = value.flag()?,
        b"public" => control.public = value.flag()?,
        b"must-revalidate" => control.must_revalidate = value.flag()?,
        b"proxy-revalidate" => control.proxy_revalidate = value.flag()?,
        b"must-understand" => control.must_understand = value.flag()?,
        _ => (),
    }
    Some(())
}

enum Value<'a> {
    Integer(i64),
    Flag(bool),
    String(&'a [u8]),
    Other,
}

impl Value<'_> {
    fn seconds(&self) -> Option<u64> {
        match self {
            Value::Integer(number) => Some(u64::try_from(*number).unwrap_or(0).min(SECONDS_MAX)),
            _ => None,
        }
    }

    fn flag(&self) -> Option<bool> {
        match self {
            Value::Flag(flag) => Some(*flag),
            _ => None,
        }
    }

    fn fields(&self) -> Option<Fields> {
        match self {
            Value::Flag(false) => Some(Fields::None),
            Value::Flag(true) => Some(Fields::All),
            Value::String(list) => {
                let names = list.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
                let names: Option<Vec<_>> = names
                    .map(|name| HeaderName::from_bytes(name).ok())
                    .collect();
                names.map(Fields::Named)
            }
            _ => None,
        }
    }
}

struct Parser<'a> {
    rest: &'a [u8],
}

impl<'a> Parser<'a> {
    fn member(&mut self) -> Option<(&'a [u8], Value<'a>)> {
        let key = self.key()?;
        let value = match self.rest.first() {
            Some(b'=') => {
                self.byte(b'=')?;
                self.item_or_list()?
            }
            _ => Value::Flag(true),
        };
        self.parameters()?;
        Some((key, value))
    }

    fn item_or_list(&mut self) -> Option<Value<'a>> {
        if *self.rest.first()? != b'(' {
            return self.bare();
        }
        self.byte(b'(')?;
        loop {
            self.blanks(b" ");
            if *self.rest.first()? == b')' {
                self.byte(b')')?;
                return Some(Value::Other);
            }
            self.bare()?;
            self.parameters()?;
            matches!(self.rest.first()?, b' ' | b')').then_some(())?;
        }
    }

    fn bare(&mut self) -> Option<Value<'a>> {
        match *self.rest.first()? {
            b'-' | b'0'..=b'9' => self.number(),
            b'"' => self.string(),
            b':' => self.bytes(),
            b'?' => self.boolean(),
            b'@' => {
                self.byte(b'@')?;
                matches!(self.number()?, Value::Integer(_)).then_some(Value::Other)
            }
            b'*' | b'a'..=b'z' | b'A'..=b'Z' => {
                self.run(|byte| {
                    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~:/".contains(&byte)
                });
                Some(Value::Other)
            }
            _ => None,
        }
    }

    /// At most 15 digits, or 12 and 3 around a point.
    fn number(&mut self) -> Option<Value<'a>> {
        let negative = self.rest.first() == Some(&b'-');
        if negative {
            self.byte(b'-')?;
        }
        let whole = self.run(|byte| byte.is_ascii_digit());
        if whole.is_empty() || whole.len() > 15 {
            return None;
        }
        if self.rest.first() == Some(&b'.') {
            self.byte(b'.')?;
            let part = self.run(|byte| byte.is_ascii_digit());
            return (whole.len() <= 12 && (1..=3).contains(&part.len())).then_some(Value::Other);
        }
        let number = whole.iter().fold(0, |number: i64, digit| {
            number * 10 + i64::from(digit - b'0')
        });
        Some(Value::Integer(if negative { -number } else { number }))
    }

    fn string(&mut self) -> Option<Value<'a>> {
        self.byte(b'"')?;
        let text = self.rest;
        let mut at = 0;
        loop {
            match *text.get(at)? {
                b'"' => break,
                b'\\' if matches!(text.get(at + 1)?, b'"' | b'\\') => at += 2,
                0x20..=0x21 | 0x23..=0x5b | 0x5d..=0x7e => at += 1,
                _ => return None,
            }
        }
        self.rest = &text[at + 1..];
        Some(Value::String(&text[..at]))
    }

    fn bytes(&mut self) -> Option<Value<'a>> {
        self.byte(b':')?;
        self.run(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte));
        self.byte(b':')?;
        Some(Value::Other)
    }

    fn boolean(&mut self) -> Option<Value<'a>> {
        self.byte(b'?')?;
        let (digit, rest) = self.rest.split_first()?;
        self.rest = rest;
        match digit {
            b'0' => Some(Value::Flag(false)),
            b'1' => Some(Value::Flag(true)),
            _ => None,
        }
    }

    fn parameters(&mut self) -> Option<()> {
        while self.rest.first() == Some(&b';') {
            self.byte(b';')?;
            self.blanks(b" ");
            self.key()?;
            if self.rest.first() == Some(&b'=') {
                self.byte(b'=')?;
                self.bare()?;
            }
        }
        Some(())
    }

    fn key(&mut self) -> Option<&'a [u8]> {
        matches!(self.rest.first()?, b'a'..=b'z' | b'*').then_some(())?;
        Some(self.run(|byte| {
            byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-.*".contains(&byte)
        }))
    }

    fn run(&mut self, is: impl Fn(u8) -> bool) -> &'a [u8] {
        let end = self
            .rest
            .iter()
            .position(|byte| !is(*byte))
            .unwrap_or(self.rest.len());
        let (run, rest) = self.rest.split_at(end);
        self.rest = rest;
        run
    }

    fn blanks(&mut self, blanks: &[u8]) {
        self.run(|byte| blanks.contains(&byte));
    }

    fn byte(&mut self, byte: u8) -> Option<()> {
        self.rest = self.rest.strip_prefix(&[byte])?;
        Some(())
    }
}
