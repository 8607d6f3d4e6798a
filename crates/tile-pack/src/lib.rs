//! Tile packs: bounded readers of PMTiles and MBTiles that survive any file.
