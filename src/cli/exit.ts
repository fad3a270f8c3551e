// Exit codes, in one table, and the error that ends a command with one of them.

import type { Decision } from '../core/decision/decide.ts';

export const EXIT = {
  ok: 0,
  /** The service refused, the policy has errors, a case failed, or the verdict is deny. */
  failed: 1,
  pending: 2,
  /** No verdict, no answer, or a file that cannot be used. */
  noAnswer: 3,
  usage: 64,
} as const;

/** The exit codes of `check` and `simulate --exit-code` for each decision. */
export const EXIT_OF: Record<Decision, number> = {
  allow: EXIT.ok,
  deny: EXIT.failed,
  pending: EXIT.pending,
};

interface CliErrorOptions extends ErrorOptions {
  list?: readonly string[];
}

export class CliError extends Error {
  readonly exitCode: number;
  /** The lines that are printed below a message that ends with a colon. */
  readonly list: readonly string[];

  constructor(exitCode: number, message: string, { list = [], ...options }: CliErrorOptions = {}) {
    super(message, options);
    this.exitCode = exitCode;
    this.list = list;
  }
}

export function usageError(message: string): CliError {
  return new CliError(EXIT.usage, message);
}
