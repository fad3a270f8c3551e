// What the audit log can be filtered by about shadows: what the shadow said about a call, or that it decided otherwise
// than the key's policy.

import { DECISIONS } from '../decision/decide.ts';

export const SHADOWS = [...DECISIONS, 'differs'] as const;
export type ShadowFilter = (typeof SHADOWS)[number];
