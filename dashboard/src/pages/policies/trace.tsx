// The trace of a call that was tried: each rule that matches by name, what its conditions came to and what they read,
// and which rule decided.

import type { Simulated } from '../../../../src/core/decision/simulate.ts';
import type { Detail, TraceStep } from '../../../../src/core/decision/trace.ts';
import { Badge, Named, type Tone } from '../../components/text.tsx';
import type { Rule } from '../../resources.ts';

interface TraceProps {
  tried: Simulated;
  rules: readonly Rule[];
  /** The line on which each rule begins. */
  lines: readonly number[];
  goTo: (line: number) => void;
}

export function Trace({ tried, rules, lines, goTo }: TraceProps) {
  if (tried.trace.length === 0) return null;
  return (
    <ol class="trace" aria-label="Rules that match the tool">
      {tried.trace.map(step => (
        <Step
          key={step.ruleIndex}
          step={step}
          rule={rules[step.ruleIndex]}
          decides={step.ruleIndex === tried.ruleIndex}
          goTo={() => goTo(lines[step.ruleIndex] ?? 1)}
        />
      ))}
    </ol>
  );
}

interface StepProps {
  step: TraceStep;
  rule: Rule | undefined;
  decides: boolean;
  goTo: () => void;
}

function Step({ step, rule, decides, goTo }: StepProps) {
  return (
    <li class={decides ? 'decides' : undefined}>
      <p class="step">
        <button type="button" class="link" onClick={goTo}>
          Show rule {step.ruleIndex}
        </button>
        {rule?.name !== undefined && <Named text={rule.name} />}
        <code>
          <Named text={`${rule?.tool} → ${rule?.action}`} />
        </code>
        <StepBadge step={step} decides={decides} />
      </p>
      {step.details.length > 0 && (
        <ul>
          {step.details.map(each => (
            <Part key={each.name} detail={each} />
          ))}
        </ul>
      )}
      <p class="soft">{sentence(step.said)}</p>
    </li>
  );
}

function StepBadge({ step: { applies, conditions }, decides }: { step: TraceStep; decides: boolean }) {
  if (decides) return <Badge tone="accent">decides</Badge>;
  if (applies === true) return <Badge tone="plain">applies</Badge>;
  if (applies === false) return <Badge tone="plain">does not apply</Badge>;
  return <Badge tone="pending">{conditions.includes('error') ? 'failed' : 'depends on arguments'}</Badge>;
}

/** A condition, the hours or the limit of the rule. */
function Part({ detail: { name, text, outcome, why, values } }: { detail: Detail }) {
  return (
    <li>
      <Badge tone={toneOf(outcome)}>{outcome}</Badge> <span class="soft">{name}:</span>{' '}
      <code>
        <Named text={text} />
      </code>
      {why !== null && <p class="soft">{why}</p>}
      {values.length > 0 && (
        <p class="soft">
          <Named text={values.join(', ')} />
        </p>
      )}
    </li>
  );
}

const TONES: Record<string, Tone> = {
  true: 'allow',
  inside: 'allow',
  false: 'deny',
  outside: 'deny',
  failed: 'pending',
};

const toneOf = (outcome: string): Tone => TONES[outcome] ?? 'plain';

/** The words of the core as a sentence of its own. */
function sentence(words: string): string {
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}.`;
}
