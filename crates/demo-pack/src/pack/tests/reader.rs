//! A reader of vector tiles that shares nothing with the writer.

use crate::vector_tile::Spot;

pub(crate) struct Layer {
    pub(crate) name: String,
    pub(crate) version: u64,
    pub(crate) extent: u32,
    pub(crate) features: Vec<Feature>,
}

pub(crate) struct Feature {
    pub(crate) tags: Vec<(String, String)>,
    pub(crate) is_area: bool,
    pub(crate) paths: Vec<Path>,
}

#[derive(Default)]
pub(crate) struct Path {
    pub(crate) spots: Vec<Spot>,
    pub(crate) closed: bool,
}

enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

impl<'a> Value<'a> {
    fn bytes(&self) -> &'a [u8] {
        match self {
            Value::Bytes(bytes) => bytes,
            Value::Number(number) => panic!("{number} where bytes were expected"),
        }
    }

    fn number(&self) -> u64 {
        match self {
            Value::Number(number) => *number,
            Value::Bytes(_) => panic!("bytes where a number was expected"),
        }
    }

    fn text(&self) -> String {
        String::from_utf8(self.bytes().to_vec()).unwrap()
    }
}

pub(crate) fn layers(tile: &[u8]) -> Vec<Layer> {
    fields(tile)
        .into_iter()
        .map(|(_, value)| layer(value.bytes()))
        .collect()
}

fn layer(bytes: &[u8]) -> Layer {
    let all = fields(bytes);
    let of = |wanted: u64| {
        all.iter()
            .filter(move |(field, _)| *field == wanted)
            .map(|(_, value)| value)
    };
    let keys: Vec<String> = of(3).map(Value::text).collect();
    let values: Vec<String> = of(4)
        .map(|value| fields(value.bytes())[0].1.text())
        .collect();
    Layer {
        name: of(1).next().unwrap().text(),
        version: of(15).next().unwrap().number(),
        extent: of(5).next().unwrap().number() as u32,
        features: of(2)
            .map(|value| feature(value.bytes(), &keys, &values))
            .collect(),
    }
}

fn feature(bytes: &[u8], keys: &[String], values: &[String]) -> Feature {
    let all = fields(bytes);
    let of = |wanted: u64| {
        all.iter()
            .find(|(field, _)| *field == wanted)
            .map(|(_, value)| value)
    };
    let tags = of(2).map_or(Vec::new(), |tags| numbers(tags.bytes()));
    let tag = |pair: &[u64]| {
        (
            keys[pair[0] as usize].clone(),
            values[pair[1] as usize].clone(),
        )
    };
    Feature {
        tags: tags.chunks(2).map(tag).collect(),
        is_area: of(3).unwrap().number() == 3,
        paths: paths(&numbers(of(4).unwrap().bytes())),
    }
}

fn paths(commands: &[u64]) -> Vec<Path> {
    let mut paths: Vec<Path> = Vec::new();
    let mut at = [0_i64; 2];
    let mut rest = commands.iter();
    while let Some(command) = rest.next() {
        let (id, count) = (command & 7, command >> 3);
        if id == 7 {
            paths.last_mut().unwrap().closed = true;
            continue;
        }
        assert!(id == 1 || id == 2, "command {id}");
        for _ in 0..count {
            for axis in &mut at {
                let zigzag = *rest.next().unwrap();
                *axis += (zigzag >> 1) as i64 ^ -((zigzag & 1) as i64);
            }
            if id == 1 {
                paths.push(Path::default());
            }
            paths
                .last_mut()
                .unwrap()
                .spots
                .push(at.map(|value| value as i32));
        }
    }
    paths
}

fn fields(mut bytes: &[u8]) -> Vec<(u64, Value<'_>)> {
    let mut all = Vec::new();
    while !bytes.is_empty() {
        let tag = varint(&mut bytes);
        let number = varint(&mut bytes);
        let value = match tag & 7 {
            0 => Value::Number(number),
            2 => {
                let (inside, rest) = bytes.split_at(number as usize);
                bytes = rest;
                Value::Bytes(inside)
            }
            other => panic!("wire type {other}"),
        };
        all.push((tag >> 3, value));
    }
    all
}

fn numbers(mut bytes: &[u8]) -> Vec<u64> {
    let mut all = Vec::new();
    while !bytes.is_empty() {
        all.push(varint(&mut bytes));
    }
    all
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..).step_by(7) {
        let byte = bytes[0];
        *bytes = &bytes[1..];
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            break;
        }
    }
    value
}
