/** Into how many parts the cells of the matrix, and those of the doors, are divided; each by its place modulo this. */
export const partsOfCells = 24;
