// Exit codes, in one table, and the error that ends a command with one of them.

import type { Decision } from '../core/decide.ts';

export const EXIT = {
  ok: 0,
  /** The service refused, the policy has errors, a case failed, or the verdict is deny. */
  failed: 1,
  pending: 2,
  /** No verdict, no answer, or a file that cannot be used. */
  noAnswer: 3,
  usage: 64,
} as const;

/** How a decision is told by `check`, and by `simulate --exit-code`. */
export const EXIT_OF: Record<Decision, number> = {
  allow: EXIT.ok,
  deny: EXIT.failed,
  pending: EXIT.pending,
};

export class CliError extends Error {
  readonly exitCode: number;

  constructor(exitCode: number, message: string, options: ErrorOptions = {}) {
    super(message, options);
    this.exitCode = exitCode;
  }
}

export function usageError(message: string): CliError {
  return new CliError(EXIT.usage, message);
}
