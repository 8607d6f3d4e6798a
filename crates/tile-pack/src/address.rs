//! Where a tile is: zoom, column and row, or one number along a Hilbert curve.

/// The deepest zoom whose tiles can be numbered with 64 bits.
pub(crate) const ZOOM_MAX: u8 = 31;

/// The address of a tile; y counts from the north.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TileAddress {
    z: u8,
    x: u32,
    y: u32,
}

impl TileAddress {
    /// Nothing when there is no such tile: z is at most 31, and x and y are below 2^z.
    pub const fn new(z: u8, x: u32, y: u32) -> Option<TileAddress> {
        if z > ZOOM_MAX || x >= 1 << z || y >= 1 << z {
            return None;
        }
        Some(TileAddress { z, x, y })
    }

    /// The zoom.
    pub const fn z(self) -> u8 {
        self.z
    }

    /// The column, from the west.
    pub const fn x(self) -> u32 {
        self.x
    }

    /// The row, from the north.
    pub const fn y(self) -> u32 {
        self.y
    }

    /// The row from the south, as MBTiles counts.
    pub const fn tms_row(self) -> u32 {
        (1 << self.z) - 1 - self.y
    }

    /// The number of the tile: all tiles of lesser zooms first, then along the curve.
    pub const fn id(self) -> u64 {
        let (mut x, mut y) = (self.x, self.y);
        let mut along = 0;
        let mut level = self.z;
        while level > 0 {
            level -= 1;
            let side = 1_u32 << level;
            let (right, low) = (x & side != 0, y & side != 0);
            along = along << 2 | quadrant(right, low);
            (x, y) = turned(side, x & (side - 1), y & (side - 1), right, low);
        }
        first_id(self.z) + along
    }

    /// The tile of a number; nothing beyond the last tile of zoom 31.
    pub const fn from_id(id: u64) -> Option<TileAddress> {
        if id > LAST_ID {
            return None;
        }
        let z = zoom_of(id);
        let along = id - first_id(z);
        let (mut x, mut y) = (0, 0);
        let mut level = 0;
        while level < z {
            let side = 1_u32 << level;
            let quadrant = along >> (2 * level) & 3;
            let right = quadrant >= 2;
            let low = quadrant == 1 || quadrant == 2;
            (x, y) = turned(side, x, y, right, low);
            x |= if right { side } else { 0 };
            y |= if low { side } else { 0 };
            level += 1;
        }
        Some(TileAddress { z, x, y })
    }
}

/// The number of the last tile there is.
pub(crate) const LAST_ID: u64 = last_id(ZOOM_MAX);

/// The number of the first tile of a zoom up to 31: (4^z − 1) / 3.
pub(crate) const fn first_id(z: u8) -> u64 {
    ((1 << (2 * z)) - 1) / 3
}

/// The number of the last tile of a zoom up to 31.
pub(crate) const fn last_id(z: u8) -> u64 {
    first_id(z) + (1 << (2 * z)) - 1
}

const fn zoom_of(id: u64) -> u8 {
    // 3·id + 1 lies in [4^z, 4^(z+1)), and fits for every id up to the last.
    ((3 * id + 1).ilog2() / 2) as u8
}

const fn quadrant(right: bool, low: bool) -> u64 {
    match (right, low) {
        (false, false) => 0,
        (false, true) => 1,
        (true, true) => 2,
        (true, false) => 3,
    }
}

/// The curve within a quadrant lies on its side in the first and the last, and in the last also upside down.
const fn turned(side: u32, x: u32, y: u32, right: bool, low: bool) -> (u32, u32) {
    match (right, low) {
        (_, true) => (x, y),
        (false, false) => (y, x),
        (true, false) => (side - 1 - y, side - 1 - x),
    }
}

#[cfg(test)]
mod tests;
