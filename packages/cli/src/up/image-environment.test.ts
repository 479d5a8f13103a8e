import { expect, it } from '@jest/globals';
import { IMAGES, imageStart } from '@kube-dns/testkit';
import { IMAGE_ENVIRONMENT } from './image-environment.js';

it.each(IMAGES)('a container of the local pod has the malloc of the image %s', (name) =>
  expect(IMAGE_ENVIRONMENT).toEqual(imageStart(name).malloc),
);
