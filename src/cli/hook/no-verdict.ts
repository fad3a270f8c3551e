// The error for a missing verdict. Its message says why, and is all that the agent and its user learn; it holds nothing
// of the event, nor text from an answer.

export class NoVerdict extends Error {}

export const NO_VERDICT = 'Toolgate gave no verdict, so this call is refused.';
