import numpy as np

import tapegrad as tg
from tapegrad import Tensor, nn, optim

img_shape = (1, 8, 8)
latent = 16


def block(in_feat: int, out_feat: int, normalize: bool = True) -> list[nn.Module]:
    layers: list[nn.Module] = [nn.Linear(in_feat, out_feat)]
    if normalize:
        layers.append(nn.BatchNorm1d(out_feat))
    layers.append(nn.LeakyReLU(negative_slope=0.2))
    return layers


class Generator(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.model = nn.Sequential(
            *block(latent, 32, normalize=False),
            *block(32, 64),
            nn.Linear(64, int(np.prod(img_shape))),
            nn.Tanh(),
        )

    def forward(self, z: Tensor) -> Tensor:
        img = self.model(z)
        return img.reshape((img.shape[0], *img_shape))


class Discriminator(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.model = nn.Sequential(
            nn.Linear(int(np.prod(img_shape)), 32),
            nn.LeakyReLU(negative_slope=0.2),
            nn.Linear(32, 1),
            nn.Sigmoid(),
        )

    def forward(self, img: Tensor) -> Tensor:
        img_flat = img.reshape((img.shape[0], -1))
        return self.model(img_flat)


generator, discriminator = Generator(), Discriminator()
optimizer_g = optim.Adam(generator, lr=2e-4, betas=(0.5, 0.999))
for epoch in range(1):
    z = tg.normal((4, latent), rng=epoch)
    gen = generator(z.trace())
    validity = discriminator(gen)
    loss = tg.bce(validity, tg.ones((4, 1)))
    optimizer_g.step(loss.backward())
result = generator(tg.zeros((2, 16))) - tg.zeros((2, 1, 8, 8))
