// The error of a call that needs a sign-in to its server first.

import type { ToolSource } from '../../store/tool-servers.ts';

export class SignInNeeded extends Error {
  readonly tool: ToolSource;
  /** Whose sign-in: null for the key's own, and for a call that acts for nobody. */
  readonly personId: string | null;

  constructor(tool: ToolSource, personId: string | null) {
    super('this server needs a sign-in');
    this.name = 'SignInNeeded';
    this.tool = tool;
    this.personId = personId;
  }
}
