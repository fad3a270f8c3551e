// What a tool says about itself: its description, its arguments, its annotations, and all of it as JSON.

import { useState } from 'preact/hooks';
import { FoldedSigns, Signs } from '../../../components/signs.tsx';
import { asObject, type Members } from './members.ts';

export function DefinitionShown({ of: definition }: { of: Members }) {
  const { description, annotations, title } = definition;
  return (
    <div class="definition">
      {typeof title === 'string' && (
        <p>
          <b>
            <Signs text={title} />
          </b>
        </p>
      )}
      {typeof description === 'string' && description !== '' ? (
        <FoldedSigns text={description} />
      ) : (
        <p class="soft">It has no description.</p>
      )}
      <Arguments of={asObject(definition['inputSchema'])} />
      <Annotations of={asObject(annotations)} />
      <Whole of={definition} />
    </div>
  );
}

/** The others stand in the JSON. */
const MOST_ARGUMENTS = 50;

function Arguments({ of: schema }: { of: Members }) {
  const all = Object.entries(asObject(schema['properties']));
  if (all.length === 0) return null;
  const required = Array.isArray(schema['required']) ? schema['required'] : [];
  return (
    <div class="arguments">
      <h5>Arguments</h5>
      <dl>
        {all.slice(0, MOST_ARGUMENTS).map(([name, value]) => (
          <Argument key={name} name={name} of={asObject(value)} isRequired={required.includes(name)} />
        ))}
      </dl>
      {all.length > MOST_ARGUMENTS && (
        <p class="soft">{all.length - MOST_ARGUMENTS} more stand in the whole definition.</p>
      )}
    </div>
  );
}

function Argument({ name, of: schema, isRequired }: { name: string; of: Members; isRequired: boolean }) {
  const { type, description } = schema;
  return (
    <div>
      <dt>
        <code>
          <Signs text={name} />
        </code>
        {type !== undefined && (
          <span class="soft">
            <FoldedSigns text={typeof type === 'string' ? type : JSON.stringify(type)} />
          </span>
        )}
        {isRequired && <span class="soft">required</span>}
      </dt>
      <dd>
        {typeof description === 'string' && <FoldedSigns text={description} />}
        {schema['enum'] !== undefined && (
          <p class="soft">
            One of <FoldedSigns text={JSON.stringify(schema['enum'])} />
          </p>
        )}
      </dd>
    </div>
  );
}

function Annotations({ of: annotations }: { of: Members }) {
  const all = Object.entries(annotations).slice(0, MOST_ARGUMENTS);
  if (all.length === 0) return null;
  return (
    <div class="arguments">
      <h5>What the server says it does</h5>
      <ul class="cluster">
        {all.map(([name, value]) => (
          <li key={name} class="chip">
            <Signs text={name} />:{' '}
            <FoldedSigns text={typeof value === 'string' ? value : JSON.stringify(value)} />
          </li>
        ))}
      </ul>
    </div>
  );
}

/** Made when somebody asks for it, since it may be large. */
function Whole({ of: definition }: { of: Members }) {
  const [open, setOpen] = useState(false);
  return (
    <details class="whole" onToggle={event => setOpen(event.currentTarget.open)}>
      <summary>The whole definition</summary>
      {open && (
        <pre>
          <Signs text={JSON.stringify(definition, null, 2)} />
        </pre>
      )}
    </details>
  );
}
