// Overview.

import { Page } from '../components/page.tsx';
import { Loading } from '../components/states.tsx';

export default function Overview() {
  return (
    <Page title="Overview">
      <Loading />
    </Page>
  );
}
