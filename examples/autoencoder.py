"""Trains a variational autoencoder with four latent variables on handwritten digits, and samples new digits.

Training maximizes a lower bound of the log-likelihood of the pixels x. The latent variables z are sampled from a normal
distribution with mean μ and variance σ² that depend on x (Kingma & Welling, https://arxiv.org/abs/1312.6114, eq. 3):

    log p(x)  ≥  E log p(x | z)  -  KL( N(μ, σ²) ‖ N(0, 1) )

Run it with

    python examples/autoencoder.py
"""

from typing import Generic
from typing import Literal as L

from matplotlib.figure import Figure
from typing_extensions import TypeVar, override

import tapegrad as tg
from shared import Images, digits, options, save
from tapegrad import Shape, Tape, Tensor, data, nn, optim, progress

N = TypeVar("N", bound=int)  # images
Z = TypeVar("Z", bound=int)  # latent variables of an image
T = TypeVar("T", bound=Tape)


class Autoencoder(nn.Module, Generic[Z]):
    """Makes a few numbers of an image, and scores for all of its pixels of a few numbers."""

    def __init__(self, latent: Z) -> None:
        self.latent = latent
        self.hidden = nn.Sequential(nn.Linear(64, 128), nn.ReLU())
        self.mean = nn.Linear(128, latent)
        self.log_variance = nn.Linear(128, latent)
        self.decoder = nn.Sequential(nn.Linear(latent, 128), nn.ReLU(), nn.Linear(128, 64))

    def encode(self, x: Tensor[Shape[N, L[64]], T]) -> tuple[Tensor[Shape[N, Z], T], Tensor[Shape[N, Z], T]]:
        """Return μ and log σ²."""
        hidden = self.hidden(x)
        return self.mean(hidden), self.log_variance(hidden)

    @override
    def forward(self, x: Tensor[Shape[N, L[64]], T]) -> Tensor[Shape[N, L[64]], T]:
        """Reconstruct each pixel from the mean alone."""
        mean, _ = self.encode(x)
        return tg.sigmoid(self.decoder(mean))


def divergence(mean: Tensor[Shape[N, Z], T], log_variance: Tensor[Shape[N, Z], T]) -> Tensor[tuple[()], T]:
    """Return the KL divergence of all latent variables, KL(N(μ, σ²) ‖ N(0, 1)) = ½ Σ μ² + σ² - log σ² - 1."""
    return 0.5 * (mean * mean + tg.exp(log_variance) - log_variance - 1.0).sum()


def bound(model: Autoencoder[Z], x: Tensor[Shape[N, L[64]], T]) -> Tensor[tuple[()], T]:
    """Return the negative evidence lower bound per image: the reconstruction loss plus the KL divergence."""
    mean, log_variance = model.encode(x)
    drawn = mean + tg.exp(0.5 * log_variance) * tg.normal_like(mean)
    pixels = tg.bce_with_logits(model.decoder(drawn), x.detach(), reduction="sum")
    return (pixels + divergence(mean, log_variance)) / float(x.shape[0])


def train(model: Autoencoder[Z], images: Images[N], epochs: int) -> None:
    """Show the model every image once an epoch, in batches of 32."""
    opt = optim.Adam(model, lr=2e-3)
    for epoch in progress.track(data.batches(images, size=32), epochs=epochs):
        for x in epoch:
            loss = bound(model, x.trace())
            opt.step(loss.backward(wrt=model))
            epoch.note(bound=loss)


def plot(model: Autoencoder[Z], images: Images[N]) -> Figure:
    """Plot ten images, their reconstructions, and ten samples."""
    invented = tg.sigmoid(model.decoder(tg.normal((10, model.latent))))
    first = images[:10]
    rows = {
        "test images": first,
        "reconstructed": model(first),
        "sampled": invented,
    }  # tapegrad: unknown because lengths differ
    figure = Figure(figsize=(7, 2.6), layout="constrained")
    for axes, (title, row) in zip(figure.subplots(3, 1), rows.items(), strict=True):
        axes.imshow(row.numpy().reshape((10, 8, 8)).transpose((1, 0, 2)).reshape((8, 80)), cmap="gray_r")
        axes.set(xticks=[], yticks=[])
        axes.set_ylabel(title, rotation=0, ha="right", va="center")
    return figure


def main() -> None:
    """Train an autoencoder of four numbers, and compare what it makes of images with the mean of all."""
    short, path = options("Trains a variational autoencoder on handwritten digits.")
    images, _, test_images, _ = digits()
    with tg.random(0):
        model = Autoencoder(4)
        train(model, images, 3 if short else 100)
        print(f"bound: {bound(model, test_images).item():.2f} per test image (nats)")
        reconstruction, mean = (
            tg.rmse(model(test_images), test_images),
            tg.rmse(test_images * 0.0 + images.mean(axis=0), test_images),
        )
        print(
            f"error of a pixel: {reconstruction.item():.3f}, and {mean.item():.3f} if each image were the mean of all"
        )
        if path:
            save(plot(model, test_images), path)


if __name__ == "__main__":
    main()
