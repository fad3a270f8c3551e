// The evaluator behind use-outlook.ts: the one of the service.

import { type Outlook, outlookOf } from '../../../../src/core/foresight/outlook.ts';
import { compilePolicy } from '../../../../src/core/policy/compiled-policy.ts';
import type { WholePolicy } from '../../resources.ts';

export type Foresee = (serverName: string, toolName: string) => Outlook;

export function foreseeBy(policy: WholePolicy, keyName: string): Foresee {
  const compiled = compilePolicy(policy);
  return (serverName, toolName) => outlookOf(compiled, { serverName, toolName }, keyName);
}
