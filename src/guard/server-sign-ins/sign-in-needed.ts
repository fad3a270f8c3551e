// The error of a call that needs a sign-in to its server first.

import type { ConnectedTool } from '../../store/connected-tools.ts';

export class SignInNeeded extends Error {
  readonly tool: ConnectedTool;
  /** Whose sign-in: null for the key's own, and for a call that acts for nobody. */
  readonly personId: string | null;

  constructor(tool: ConnectedTool, personId: string | null) {
    super('this server needs a sign-in');
    this.name = 'SignInNeeded';
    this.tool = tool;
    this.personId = personId;
  }
}
