// What an approver sees of a call: the question and the arguments that its rule selects. They are kept in memory only.

/** All values are texts, made for people. */
export interface Details {
  question: string | null;
  fields: readonly { path: string; value: string }[];
  /** How many fields were left out, because they would be too much to show. */
  omitted?: number;
}

/** What is said where the details of a call are gone. */
export const DETAILS_GONE =
  'What this call would do can no longer be shown, because the service was restarted. Deny it and let the agent ask again.';
