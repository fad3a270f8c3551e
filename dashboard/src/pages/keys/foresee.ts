// The evaluator behind use-outlook.ts: the one of the service.

import { compilePolicy } from '../../../../src/core/compiled-policy.ts';
import { type Outlook, outlookOf } from '../../../../src/core/outlook.ts';
import type { WholePolicy } from '../../resources.ts';

export type Foresee = (serverName: string, toolName: string) => Outlook;

export function foreseeBy(policy: WholePolicy, keyName: string): Foresee {
  const compiled = compilePolicy(policy);
  return (serverName, toolName) => outlookOf(compiled, { serverName, toolName }, keyName);
}
