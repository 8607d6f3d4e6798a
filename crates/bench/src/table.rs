//! Places for connections, each known by a token that no later one in the same place shares.

/// Values by token.
#[derive(Debug)]
pub struct Table<T> {
    places: Vec<Place<T>>,
    free: Vec<usize>,
}

#[derive(Debug)]
struct Place<T> {
    generation: u32,
    value: Option<T>,
}

impl<T> Table<T> {
    /// Nothing in it.
    pub fn new() -> Self {
        Self {
            places: Vec::new(),
            free: Vec::new(),
        }
    }

    /// How many are in it, lifted ones included.
    pub fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Keeps a value until its token is released.
    pub fn insert(&mut self, value: T) -> u64 {
        let index = self.free.pop().unwrap_or_else(|| {
            self.places.push(Place {
                generation: 0,
                value: None,
            });
            self.places.len() - 1
        });
        let place = &mut self.places[index];
        place.value = Some(value);
        (u64::from(place.generation) << 32) | index as u64
    }

    /// The value, unless it is released or lifted.
    pub fn get_mut(&mut self, token: u64) -> Option<&mut T> {
        self.place(token)?.value.as_mut()
    }

    /// Takes the value out to work with it; it is put back or released.
    pub fn lift(&mut self, token: u64) -> Option<T> {
        self.place(token)?.value.take()
    }

    /// Puts a lifted value back.
    pub fn put(&mut self, token: u64, value: T) {
        if let Some(place) = self.place(token) {
            place.value = Some(value);
        }
    }

    /// Ends the token, and the value with it unless that is lifted.
    pub fn release(&mut self, token: u64) {
        if let Some(place) = self.place(token) {
            place.generation = place.generation.wrapping_add(1);
            place.value = None;
            self.free.push(index(token));
        }
    }

    fn place(&mut self, token: u64) -> Option<&mut Place<T>> {
        let place = self.places.get_mut(index(token))?;
        (u64::from(place.generation) == token >> 32).then_some(place)
    }
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self::new()
    }
}

fn index(token: u64) -> usize {
    (token & u64::from(u32::MAX)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_token_does_not_reach_who_came_after() {
        let mut table = Table::new();
        let old = table.insert("old");
        table.release(old);
        let new = table.insert("new");
        assert_eq!(table.get_mut(old), None);
        assert_eq!(table.lift(old), None);
        table.release(old);
        assert_eq!(table.get_mut(new), Some(&mut "new"));
        assert_eq!(table.len(), 1);
    }

    #[test]
    fn a_lifted_value_keeps_its_place() {
        let mut table = Table::new();
        let first = table.insert(1);
        let value = table.lift(first).unwrap();
        let second = table.insert(2);
        table.put(first, value);
        assert_eq!(table.get_mut(first), Some(&mut 1));
        assert_eq!(table.get_mut(second), Some(&mut 2));
        table.release(first);
        table.release(second);
        assert!(table.is_empty());
    }
}
