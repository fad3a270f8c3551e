// Approvals.

import { Page } from '../components/page.tsx';
import { Loading } from '../components/states.tsx';

export default function Approvals() {
  return (
    <Page title="Approvals">
      <Loading />
    </Page>
  );
}
