/** True for a record that begins a round. */
export function beginsRound(record: string): boolean {
  return record.startsWith('{"type":"human"');
}
