"""Random images that resemble photographs more than white noise does: coarse and fine structure."""
import numpy


def random_images(count, size=224, seed=0):
    """count images of 3 channels with values around 0 and a variance of 1, as float32."""
    generator = numpy.random.default_rng(seed)
    images = numpy.zeros((count, 3, size, size))
    cells = [7, 28, size]  # along a side; each divides 224
    for side in cells:
        noise = generator.standard_normal((count, 3, side, side))
        images += noise.repeat(size // side, axis=2).repeat(size // side, axis=3)
    return (images / numpy.sqrt(len(cells))).astype(numpy.float32)
