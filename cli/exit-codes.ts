/** The meaning of the command's exit codes; also shown by `--help`. */
export const exitCodes = {
  done: 0,
  /** The command did its work and found something in the data: findings, records that cannot be read. */
  findings: 1,
  wrongUse: 2,
  unreachable: 3,
  /** Nothing is wrong, but something could be better. */
  warnings: 4,
  /** Nothing was found to export, import, move or delete. */
  nothing: 5,
  interrupted: 130,
} as const;

/** One of the codes in {@link exitCodes}. */
export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** The codes as `--help` shows them. */
export const exitCodeHelp = `
Exit codes:
  0    done
  1    findings or failures in the data
  2    wrong use
  3    Redis cannot be reached
  4    warnings only (doctor, check --warnings)
  5    nothing was found to export, import, move or delete
  130  interrupted`;
