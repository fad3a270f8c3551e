// The sentences of reasons, in one place: consider.ts and decide.ts write them, and reasons.ts reads them again in the
// audit log. A sentence that is changed here is no longer read in older entries, so reasons.ts must then know both.

/** A rule may have a name, which stands behind its number. */
export const ruleText = (index: number, name: string | undefined, policyName: string): string =>
  `Rule ${numbered(index, name)} of policy "${policyName}"`;

const numbered = (index: number, name: string | undefined): string =>
  name === undefined ? String(index) : `${index} ("${name}")`;

export const forwardsText = (toolName: string, serverName: string): string =>
  `This key's setting forwards ${toolName} to ${serverName}`;
export const noRuleText = (policyName: string, name: string): string =>
  `No rule of policy "${policyName}" matches ${name}; unmatched calls are denied.`;
export const outsideScopeText = (name: string): string => `${name} is outside this session's scopeTools.`;

/** What follows the text of a rule. */
export const allowsText = (name: string): string => ` allows ${name}`;
export const mayAllowText = (name: string, limit: string): string =>
  ` may allow ${name} within its limit "${limit}"`;
export const deniesText = (name: string): string => ` denies ${name}`;
export const asksText = (name: string): string => ` requires approval for ${name}`;

/** Before what stands in the way of a call that its rule allows or asks about. */
export const BUT = ', but ';
export const DRIFTED = 'the definition of the tool has changed and no operator has accepted it';
export const UNSEEN = 'its arguments are not known here';
export const usedUpText = (limit: string): string => `its limit "${limit}" is used up (`;
export const noSubjectText = (limit: string): string => `its limit "${limit}" counts per `;
export const SO_IT_ASKS = ', so it requires approval';

export const FREED = '; freed by ';
/** Before the reason why an approval that the caller named does not free the call. */
export const UNFREED = 'The approval that was named does not free this call: ';
/** What the person wrote is told to the agent, and is not part of the reason. */
export const DENIED_BY_PERSON = 'A person denied this call.';

/** Why a rule that matched by name was passed over. */
export const passedOverText = (index: number, name: string | undefined): string =>
  ` Rule ${numbered(index, name)} did not apply: `;
export const falseText = (condition: number): string => `condition ${condition} is false`;
export const failedText = (condition: number): string => `condition ${condition} could not be evaluated`;
export const OUTSIDE_HOURS = 'it is outside its hours';
export const uncountedText = (limit: string): string => `its limit "${limit}" cannot count this call`;
